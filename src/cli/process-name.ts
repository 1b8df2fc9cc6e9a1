import { setMaxOpenFiles, setOomScoreAdj, setProcessName } from '../host/own-process.ts';
import type { Logger } from '../observe/log.ts';

/** What ps, pgrep and audit tools look for. */
const installedName = 'kubelet';

interface Settings {
  oomScoreAdj: number;
  maxOpenFiles: number;
}

/**
 * Gives the process the name it is installed under (the launcher passes it on as argv[0]) and the settings of the
 * configuration. What the kernel refuses is one warning each; the work goes on.
 */
export async function applyProcessSettings(settings: Settings, argv0: string, log: Logger): Promise<void> {
  const steps: [what: string, values: Record<string, unknown>, run: () => Promise<void>][] = [
    ['Failed to set oom_score_adj', { value: settings.oomScoreAdj }, () => setOomScoreAdj(settings.oomScoreAdj)],
    ['Failed to set the limit of open files', { value: settings.maxOpenFiles }, () => setMaxOpenFiles(settings.maxOpenFiles)],
  ];
  if (argv0.slice(argv0.lastIndexOf('/') + 1) === installedName) {
    steps.unshift(['Failed to set the process name', { value: installedName }, () => setProcessName(installedName)]);
  }
  await Promise.all(
    steps.map(async ([what, values, run]) => {
      try {
        await run();
      } catch (error) {
        log.warn(what, { ...values, err: error });
      }
    }),
  );
}
