/**
 * The part of `npm run bench` with `--probes N`: what N probes a second cost this agent and another kubelet: the one of
 * `--against PATH`, else Kubernetes' own, which is built when it is not in the cache; `--against none` for neither.
 */
import { execFile } from 'node:child_process';
import { appendFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { connectRuntime } from '../src/cri/connect.ts';
import { noRuntimeMetrics } from '../src/cri/instrumentation.ts';
import { systemClock } from '../src/host/clock.ts';
import { silentLogger } from '../src/observe/log.ts';
import { goTool } from '../test/e2e/cluster/goTools.ts';
import { startContainerd } from '../test/support/containerd.ts';
import { measureProbes, type ProbeFigures, probesTable, probeVerdicts } from './probes.ts';

const project = resolve(import.meta.dirname, '..');
const run = promisify(execFile);
const { values } = parseArgs({
  options: {
    probes: { type: 'string', default: '1000' },
    against: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    settle: { type: 'string', default: '20' },
    'no-record': { type: 'boolean', default: false },
  },
});
const [probes, rounds, seconds] = [Number(values.probes), Number(values.rounds), Number(values.settle)];
if (![probes, rounds, seconds].every((n) => Number.isInteger(n) && n > 0)) {
  throw new Error('--probes, --rounds and --settle take whole numbers above 0');
}
const OWN = 'kubelet-ts';
const candidates: [string, string][] = [[OWN, join(project, 'bin/kubelet-ts')]];
const OTHER = values.against === undefined ? 'Go kubelet' : `other (${values.against.split('/').pop()})`;
if (values.against !== 'none') {
  const path = values.against === undefined ? await goTool('kubelet', (line) => console.log(`  ${line}`)) : resolve(values.against);
  candidates.push([OTHER, path]);
}

console.log('• building');
await run(process.execPath, [join(project, 'scripts/build.ts')], { cwd: project });
const results = new Map<string, ProbeFigures[]>();
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
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < candidates.length; i++) {
      const [name, kubelet] = candidates[(i + round) % candidates.length] ?? ['', ''];
      process.stdout.write(`• round ${round + 1} of ${rounds}: ${name} ... `);
      const dir = join(dirname(containerd.dir), `bench-${round}-${i}`);
      const figures = await measureProbes({ containerd, runtime, kubelet, probes, seconds, dir });
      results.set(name, [...(results.get(name) ?? []), figures]);
      console.log(`${figures.rate.toFixed(0)} probes a second, ${figures.cpu.toFixed(1)} % of a core`);
    }
  }
  connected.close();
}
const ordered = new Map(candidates.map(([name]) => [name, results.get(name) ?? []]));
const text = `${probesTable(ordered)}\n\n${probeVerdicts(ordered.get(OWN) ?? [], ordered.get(OTHER) ?? []).join('\n')}`;
console.log(`\n${text}\n`);
if (!values['no-record']) {
  const commit = (await run('git', ['-C', project, 'describe', '--always', '--dirty'])).stdout.trim();
  const date = new Date().toISOString().slice(0, 10);
  const head =
    `## ${date}: ${probes} probes a second, commit ${commit}\n\nHalf HTTP, half TCP, period 1 s, two a container; ${seconds} s a round, ` +
    `${rounds} rounds, ${cpus().length} CPUs, Node ${process.version}, one run. The figures hold all that the kubelet does meanwhile.\n`;
  await appendFile(join(project, 'docs/benchmarks.md'), `\n${head}\n${text}\n`);
  console.log('added to docs/benchmarks.md');
}
