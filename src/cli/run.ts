import { mkdir } from 'node:fs/promises';
import { ConfigErrors, formatWarning } from '../config/errors.ts';
import { parseFlags } from '../config/flags.ts';
import { type LoadedKubelet, loadKubelet } from '../config/load.ts';
import { configYaml } from '../config/show.ts';
import { systemClock } from '../host/clock.ts';
import { type FileLock, lockFile } from '../host/file-lock.ts';
import { type Lock, lockRootDir } from '../host/lock.ts';
import { wallTimeMs } from '../host/wall-time.ts';
import { createKlog, type Klog } from '../observe/klog.ts';
import { systemConfigIo } from './config-io.ts';
import { crashOnUncaught } from './crash.ts';
import { applyProcessSettings } from './process-name.ts';

const exitOk = 0;
const exitError = 1;

/** Runs the agent with the kubelet's flags until a signal or an error. Returns the exit code. */
export async function runCommand(args: readonly string[]): Promise<number> {
  const early = await earlyExit(args);
  if (early !== undefined) return early;
  let loaded: LoadedKubelet;
  try {
    loaded = await loadKubelet(args, systemConfigIo);
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error;
    console.error(error.message);
    return exitError;
  }
  const log = openLog(loaded);
  crashOnUncaught(log);
  process.on('exit', () => log.flush());
  const code = await run(loaded, log);
  // Sockets of peers that do not close must not keep a stopped agent alive.
  log.flush();
  process.exit(code);
}

/** `--help` and `--version` among other flags, as long as all flags can be read. */
async function earlyExit(args: readonly string[]): Promise<number | undefined> {
  const { version, faults, help } = parseFlags(args);
  if (faults.length > 0) return undefined;
  if (help) return (await import('./help.ts')).helpCommand();
  if (version === undefined) return undefined;
  console.log((await import('./version.ts')).versionText(version));
  return exitOk;
}

function openLog({ resolved }: LoadedKubelet): Klog {
  const { format, verbosity, vmodule, options } = resolved.logging;
  const json = format === 'json';
  return createKlog({
    format: json ? 'json' : 'text',
    verbosity,
    vmodule,
    splitStream: options[json ? 'json' : 'text'].splitStream === true,
    now: wallTimeMs,
  });
}

function logStart({ flags, config, warnings, skippedDropIns }: LoadedKubelet, log: Klog): void {
  for (const warning of warnings) {
    // The flag parser of the real kubelet writes these bare.
    if (warning.flag !== undefined) process.stderr.write(`${warning.message}\n`);
    else log.warn('Configuration', { warning: formatWarning(warning) });
  }
  log.info('Effective KubeletConfiguration', { config: configYaml(config) });
  log.debug(1, 'Flags', { flags });
  for (const file of skippedDropIns) log.debug(4, 'Skipped file in drop-in directory (does not have .conf extension)', { file });
  if (config.contentType?.includes('protobuf') === true) log.debug(2, 'The API server is spoken to in JSON, whatever contentType says');
}

async function run(loaded: LoadedKubelet, log: Klog): Promise<number> {
  const { flags, config, resolved } = loaded;
  const stop = new AbortController();
  stopOnSignals(stop, log);
  logStart(loaded, log);
  let file: FileLock | undefined;
  let root: Lock | undefined;
  try {
    if (flags.lockFile !== '') file = await takeLockFile(flags.lockFile, flags.exitOnLockContention, stop, log);
    await mkdir(flags.rootDir, { recursive: true, mode: 0o750 });
    root = await lockRootDir(flags.rootDir);
    await applyProcessSettings(resolved, process.argv0, log);
    const { runKubelet } = await import('./run-kubelet.ts');
    await runKubelet({ flags, config, resolved, log, signal: stop.signal });
    return exitOk;
  } catch (error) {
    if (stop.signal.aborted) return exitOk;
    log.error(error, 'Failed to run kubelet');
    if (error instanceof Error && error.stack !== undefined) log.debug(2, 'Stack', { stack: error.stack });
    return exitError;
  } finally {
    await root?.release();
    file?.release();
  }
}

async function takeLockFile(path: string, exitOnContention: boolean, stop: AbortController, log: Klog): Promise<FileLock> {
  log.info('Acquiring file lock', { path });
  const lock = await lockFile(path, stop.signal);
  if (exitOnContention) {
    const watch = async (): Promise<void> => {
      await lock.contended(systemClock, stop.signal);
      log.info('Another process waits for the lock file, stopping', { path });
      stop.abort(new Error('another process waits for the lock file'));
    };
    watch().catch((error: unknown) => {
      if (!stop.signal.aborted) log.error(error, 'Cannot watch the lock file any more', { path });
    });
  }
  return lock;
}

/** The first SIGTERM or SIGINT stops in order, the second at once. */
function stopOnSignals(stop: AbortController, log: Klog): void {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) {
      log.warn('Second signal, exiting at once', { signal });
      log.flush();
      process.exit(exitError);
    }
    log.info('Received signal, stopping', { signal });
    stop.abort(new Error(`received ${signal}`));
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
