/**
 * `npm run conformance`: the public node e2e suite of Kubernetes, unmodified, against this agent or another kubelet.
 * `npm run conformance -- --help` for the options.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { goTool } from '../test/e2e/cluster/goTools.ts';
import { type AreaRow, areaRows, textTable } from '../test/e2e/conformance/areaTable.ts';
import { conformanceDoc } from '../test/e2e/conformance/conformanceDoc.ts';
import { suiteImageStore } from '../test/e2e/conformance/images/suiteImageStore.ts';
import type { SpecResult } from '../test/e2e/conformance/results.ts';
import { runSuite } from '../test/e2e/conformance/runSuite.ts';
import { focusOf, type Mode, modeOf, readSpecs, type Spec, specsMatching, specsOfAreas } from '../test/e2e/conformance/specs.ts';
import { type ConformanceCommand, parseConformanceOptions, USAGE } from './conformance/options.ts';
import { mustRun } from './node/run.ts';
import { endSignal } from './start/endSignal.ts';

const project = resolve(import.meta.dirname, '..');
const KEEP = join(project, '.cache/conformance');
const KEPT_RUNS = 7;
const line = (text: string) => void process.stdout.write(`${text}\n`);

process.exitCode = await main(readOptions(), endSignal());

function readOptions(): ConformanceCommand {
  try {
    const parsed = parseConformanceOptions(process.argv.slice(2), project);
    if (parsed !== 'help') return parsed;
    process.stdout.write(USAGE);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

async function main(command: ConformanceCommand, signal: AbortSignal): Promise<number> {
  try {
    return await conformance(command, signal);
  } catch (error) {
    line(`✗ ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

async function conformance(command: ConformanceCommand, signal: AbortSignal): Promise<number> {
  const wanted = chooseSpecs(command);
  for (const area of command.areas.filter((a) => !wanted.some((s) => s.area === a)))
    line(`${area}: the Go kubelet passes none of its specs here`);
  if (wanted.length === 0) throw new Error('no spec is left to run');
  const suite = await goTool('e2e_node.test', line);
  const ginkgo = await goTool('ginkgo', line);
  const images = await suiteImageStore(line);
  if (command.own) {
    line('building bin/kubelet-ts');
    await mustRun(process.execPath, [join(project, 'scripts/build.ts')], { cwd: project, timeoutMs: 300_000 });
  }
  const keepDir = await newKeepDir();
  const results: SpecResult[] = [];
  const faults: string[] = [];
  for (const mode of ['parallel', 'slow', 'serial'] as const) {
    const specs = wanted.filter((s) => modeOf(s) === mode);
    if (specs.length === 0 || signal.aborted) continue;
    const keep = join(keepDir, mode);
    await mkdir(keep, { recursive: true });
    const processes = mode === 'serial' ? 1 : Math.min(command.processes, specs.length);
    const show = teller(mode, specs.length, processes);
    try {
      const { kubelet, timeoutMinutes, featureGates } = command;
      const focus = specs.map(focusOf);
      const done = await runSuite({
        suite,
        ginkgo,
        images,
        kubelet,
        processes,
        focus,
        timeoutMinutes,
        featureGates,
        keep,
        signal,
        progress: show.progress,
      });
      results.push(...done.specs);
      faults.push(...done.faults.map((f) => `${mode}: ${f}`));
    } finally {
      show.end();
    }
  }
  const rows = areaRows(wanted, results);
  line(`\n${textTable(rows)}\n`);
  for (const row of rows) for (const fault of row.faults) line(`✗ ${row.area}: ${fault}`);
  for (const fault of faults) line(`✗ ${fault}`);
  line(`logs and junit: ${relative(process.cwd(), keepDir)}`);
  if (signal.aborted) return 1;
  if (command.own && command.focus === undefined) await record(rows);
  return faults.length === 0 && rows.every((r) => r.faults.length === 0) ? 0 : 1;
}

function chooseSpecs({ areas, focus }: ConformanceCommand): Spec[] {
  const specs = readSpecs();
  if (focus !== undefined) return specsMatching(specs, focus);
  return areas.length === 0 ? specs.filter((s) => s.go === 'pass') : specsOfAreas(specs, areas);
}

/** Tells how far a run of the suite is: failures at once, the rest every 15 s. */
function teller(mode: Mode, total: number, processes: number) {
  const began = performance.now();
  const seconds = () => `${Math.round((performance.now() - began) / 1000)} s`;
  let state = 'preparing';
  line(`▶ ${mode}: ${total} specs, ${processes} at a time`);
  const timer = setInterval(() => line(`  … ${mode}, ${seconds()}: ${state}`), 15_000);
  return {
    progress(p: { stage?: string; done?: number; failed?: number; failure?: string }) {
      if (p.stage !== undefined) state = p.stage;
      if (p.done !== undefined) state = `${p.done} of ${total} done, ${p.failed} failed`;
      if (p.failure !== undefined) line(`  ✗ ${p.failure}`);
    },
    end() {
      clearInterval(timer);
      line(`  ${mode}: ${state} (${seconds()})`);
    },
  };
}

/** A folder for the logs of this command, named by its time; of the earlier ones the newest stay. */
async function newKeepDir(): Promise<string> {
  await mkdir(KEEP, { recursive: true });
  const old = (await readdir(KEEP)).filter((name) => /^[0-9]{8}T/.test(name)).sort();
  for (const name of old.slice(0, -KEPT_RUNS)) await rm(join(KEEP, name), { recursive: true, force: true });
  return join(KEEP, `${new Date().toISOString().replaceAll(/[-:]|\..*/g, '')}-${process.pid}`);
}

async function record(rows: readonly AreaRow[]): Promise<void> {
  const file = join(project, 'docs/conformance.md');
  const commit = (await mustRun('git', ['-C', project, 'describe', '--always', '--dirty'])).trim();
  const when = `${new Date().toISOString().slice(0, 10)}, ${commit}`;
  await writeFile(file, conformanceDoc(await readFile(file, 'utf8').catch(() => ''), rows, when));
  line(`written: ${relative(process.cwd(), file)}`);
}
