import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cgroupFolders } from '../../scripts/node/cgroups.ts';
import { mountsBelow } from '../../scripts/node/mounts.ts';
import { mustRun, run } from '../../scripts/node/run.ts';
import { RUNS_DIR, readRuns } from '../../scripts/node/runRecord.ts';

/**
 * What there is on the machine of a run that is over: looked up in other ways than the clean-up does it. One line each.
 * Nothing when another live process has taken the run's number since.
 */
export async function traces(ran: { index: number; dir: string }): Promise<string[]> {
  const now = (await readRuns()).find((r) => r.index === ran.index);
  if (now?.live === true && now.record?.owner.pid !== process.pid) return [];
  const [name, state] = [`kts${ran.index}`, join(RUNS_DIR, String(ran.index))];
  const found = [...(await mountsBelow([state, dirname(ran.dir)])), ...(await cgroupFolders(`/kubelet-ts-${ran.index}`))];
  if ((await run('ip', ['link', 'show', name])).code === 0) found.push(`bridge ${name}`);
  for (const line of (await mustRun('iptables-save', [])).split('\n')) if (line.includes(`\\"${name}\\"`)) found.push(line);
  for (const path of [state, dirname(ran.dir)]) if (existsSync(path)) found.push(path);
  for (const line of (await mustRun('ps', ['-eo', 'args'])).split('\n')) {
    if (line.includes(`${state}/`) || line.includes(`${dirname(ran.dir)}/`)) found.push(line);
  }
  return found;
}
