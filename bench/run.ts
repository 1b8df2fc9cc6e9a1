/**
 * npm run bench -- [--api] --pods N [--against PATH_TO_A_KUBELET] [--rounds R] [--settle S]
 *
 * Static pods, or with --api pods of a real API server, of this agent, of another kubelet, and by the bare runtime calls,
 * interleaved on one private containerd; prints the medians and adds them to docs/benchmarks.md.
 */
import { execFile } from 'node:child_process';
import { appendFile, readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { connectRuntime } from '../src/cri/connect.ts';
import { noRuntimeMetrics } from '../src/cri/instrumentation.ts';
import { systemClock } from '../src/host/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { startCluster } from '../test/e2e/cluster/cluster.ts';
import { startContainerd } from '../test/support/containerd.ts';
import { apiAims, verdicts } from './aims.ts';
import { measureApiFloor } from './api-floor.ts';
import { measureApiPods } from './api-pods.ts';
import { measureBareCalls } from './bare-calls.ts';
import { type Figures, table } from './figures.ts';
import { measureStaticPods } from './static-pods.ts';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const OWN = 'kubelet-ts';

if (process.argv.includes('--probes')) {
  await import('./run-probes.ts');
  process.exit();
}

const { values } = parseArgs({
  options: {
    api: { type: 'boolean', default: false },
    pods: { type: 'string', default: '20' },
    against: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    settle: { type: 'string', default: '20' },
    'no-record': { type: 'boolean', default: false },
  },
});
const pods = count('pods', values.pods);
const rounds = count('rounds', values.rounds);
const settleSeconds = count('settle', values.settle);
const against = values.against === undefined ? undefined : resolve(values.against);

const run = promisify(execFile);
console.log('• building');
await run(process.execPath, [join(project, 'scripts/build.ts')], { cwd: project });

const results = new Map<string, Figures[]>();
{
  await using containerd = await startContainerd({ log: () => undefined });
  const connected = await connectRuntime({
    endpoint: containerd.endpoint,
    timeoutMs: 120_000,
    clock: systemClock,
    log: silentLogger,
    metrics: noRuntimeMetrics,
  });
  const { runtime } = connected;
  let number = 0;
  const folder = () => join(dirname(containerd.dir), `bench-${number++}`);
  let tell = true;
  await using cluster = values.api ? await startCluster({ log: (line) => void (tell && console.log(`  ${line}`)) }) : undefined;
  const kubelet = (path: string) => () =>
    cluster === undefined
      ? measureStaticPods({ containerd, runtime, kubelet: path, pods, settleSeconds, dir: folder() })
      : measureApiPods({ cluster, containerd, runtime, kubelet: path, pods, settleSeconds, number: number++ });
  const bare = (atATime: number) => async () => {
    const dir = folder();
    if (cluster !== undefined) return measureApiFloor({ cluster, containerd, runtime, pods, atATime, dir, number: number++ });
    await containerd.ownFolder(dir);
    return measureBareCalls({ runtime, cgroupRoot: containerd.cgroupRoot, pods, atATime, dir });
  };
  const candidates: [string, () => Promise<Figures>][] = [
    [OWN, kubelet(join(project, 'bin/kubelet-ts'))],
    ...(against === undefined ? [] : [[nameOf(against), kubelet(against)] as [string, () => Promise<Figures>]]),
    ['bare calls, 4 at a time', bare(4)],
    ...(pods > 4 ? [['bare calls, all at once', bare(pods)] as [string, () => Promise<Figures>]] : []),
  ];
  tell = false;
  // The first pods of a new containerd are slower than all later ones: they count for nobody.
  await measureBareCalls({ runtime, cgroupRoot: containerd.cgroupRoot, pods: 2, atATime: 2, dir: folder() });
  for (let round = 0; round < rounds; round++) {
    // Each round begins with another candidate, so that none is always first.
    for (let i = 0; i < candidates.length; i++) {
      const [name, measure] = candidates[(i + round) % candidates.length] ?? candidates[0] ?? never();
      process.stdout.write(`• round ${round + 1} of ${rounds}: ${name} ... `);
      const figures = await measure();
      const list = results.get(name) ?? [];
      list.push(figures);
      results.set(name, list);
      console.log(
        `median Ready ${figures.ready50.toFixed(2)} s, last ${figures.readyLast.toFixed(2)} s, stopped in ${figures.stop.toFixed(2)} s`,
      );
    }
  }
  connected.close();
}
const ordered = new Map([...results].sort(([a], [b]) => rank(a) - rank(b)));
const compared = against === undefined ? undefined : nameOf(against);
const aims = values.api && compared !== undefined ? `\n\n${verdicts(ordered, OWN, compared, apiAims(pods)).join('\n')}` : '';
const text = `${table(ordered, OWN, compared)}${aims}`;
console.log(`\n${text}\n`);
if (!values['no-record']) await record(text);

async function record(text: string): Promise<void> {
  const commit = (await run('git', ['-C', project, 'describe', '--always', '--dirty'])).stdout.trim();
  const { version } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as { version: string };
  const date = new Date().toISOString().slice(0, 10);
  const head = `## ${date}: ${pods} ${values.api ? 'pods of the API server' : 'static pods'}, version ${version}, commit ${commit}\n\nMedian of ${rounds} rounds, ${cpus().length} CPUs, Node ${process.version}, interleaved in one run.\n`;
  await appendFile(join(project, 'docs/benchmarks.md'), `\n${head}\n${text}\n`);
  console.log('added to docs/benchmarks.md');
}

function rank(name: string): number {
  return name === OWN ? 0 : name.startsWith('bare') ? 2 : 1;
}

function nameOf(path: string): string {
  return `other (${path.split('/').pop() ?? path})`;
}

function count(flag: string, text: string): number {
  const n = Number(text);
  if (Number.isInteger(n) && n > 0) return n;
  console.error(`--${flag} ${text}: give a whole number above 0`);
  process.exit(1);
}

function never(): never {
  throw new Error('no candidate');
}
