import { spawn } from 'node:child_process';
import { accessSync, constants, globSync } from 'node:fs';
import { join } from 'node:path';
import { systemPath } from '../../scripts/node/run.ts';
import { clusterBinaries } from '../e2e/cluster/binaries.ts';
import { currentContainerd } from './currentContainerd.ts';
import { SUMMARY_MARK, type TestSummary } from './testReporter.ts';

/** A part of `npm test`. */
export interface Stage {
  name: string;
  /** What it does, for `npm test -- --list`. */
  title: string;
  /** Why it cannot run here, or undefined. */
  impossible?(): string | undefined;
  /** What is built or fetched once, before its time counts. */
  prepare?(show: (line: string) => void): Promise<void>;
  run(show: (line: string) => void): Promise<TestSummary>;
}

export interface StageContext {
  project: string;
  /** Runs of node that the stages start. */
  node: string;
}

const tool = (context: StageContext, name: string) => join(context.project, 'node_modules', '.bin', name);

/** All stages in their order: what is quick and tells most comes first. */
export function stages(context: StageContext): Stage[] {
  const check = (name: string, title: string, command: string, args: string[]): Stage => ({
    name,
    title,
    run: (show) => oneCheck(context, tool(context, command), args, show),
  });
  const tests = (name: string, title: string, patterns: string[], options: string[] = []): Stage => ({
    name,
    title,
    run: (show) => nodeTests(context, patterns, options, show),
  });
  return [
    check('format', 'format and lint (biome)', 'biome', ['check', '--max-diagnostics=20']),
    check('types', 'types (tsc)', 'tsc', ['--noEmit']),
    check('promises', 'floating promises (oxlint)', 'oxlint', ['--type-aware', '--quiet']),
    tests('structure', 'import graph, time, file lengths', ['test/structure/*.test.ts']),
    // One process for all: starting one for each file costs more than the tests.
    tests(
      'unit',
      'unit tests beside the code',
      ['{src,scripts,bench}/**/*.test.ts', 'test/{support,vectors}/*.test.ts', 'test/e2e/{cluster,conformance}/**/*.test.ts'],
      ['--test-isolation=none'],
    ),
    { name: 'vectors', title: 'values of the real kubelet', run: (show) => vectors(context, show) },
    tests('sim', 'the simulated world', ['test/sim/**/*.test.ts']),
    {
      ...tests(
        'attacks',
        'attacks on the agent, with fewer tries',
        ['test/attacks/*.test.ts'],
        ['--test-concurrency=1', '--test-timeout=300000'],
      ),
      impossible: rootImpossible,
    },
    {
      ...tests('runtime', 'against a real containerd', ['test/runtime/*.test.ts'], ['--test-concurrency=1', '--test-timeout=600000']),
      impossible: runtimeImpossible,
      prepare: prepareRuntime,
    },
    {
      ...tests('cluster', 'against a real API server', ['test/e2e/*.test.ts'], ['--test-concurrency=1', '--test-timeout=600000']),
      impossible: runtimeImpossible,
      prepare: prepareCluster,
    },
  ];
}

async function prepareRuntime(show: (line: string) => void): Promise<void> {
  await currentContainerd((line) => show(`  ${line}`));
}

/** Test files run in processes of their own, which would each be silent while Go builds for minutes. */
async function prepareCluster(show: (line: string) => void): Promise<void> {
  await clusterBinaries((line) => show(`  ${line}`));
}

function rootImpossible(): string | undefined {
  if (process.platform !== 'linux') return 'needs Linux';
  return process.getuid?.() === 0 ? undefined : 'needs root';
}

function runtimeImpossible(): string | undefined {
  const impossible = rootImpossible();
  if (impossible !== undefined) return impossible;
  const missing = ['containerd', 'ctr', 'runc', 'ip'].filter((p) => !systemPath.split(':').some((folder) => isExecutable(join(folder, p))));
  return missing.length === 0 ? undefined : `${missing.join(', ')} not installed`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A tool that passes or fails as a whole. */
async function oneCheck(context: StageContext, command: string, args: string[], show: (line: string) => void): Promise<TestSummary> {
  const said: string[] = [];
  const code = await lines(context, command, args, (line) => said.push(line));
  if (code === 0) return { passed: 1, failed: 0, skipped: [] };
  for (const line of said.slice(-60)) show(`  ${line.slice(0, 400)}`);
  return { passed: 0, failed: 1, skipped: [] };
}

async function nodeTests(context: StageContext, patterns: string[], options: string[], show: (line: string) => void): Promise<TestSummary> {
  const files = patterns.flatMap((p) => globSync(p, { cwd: context.project })).sort();
  if (files.length === 0) {
    show(`  no test files: ${patterns.join(' ')}`);
    return { passed: 0, failed: 1, skipped: [] };
  }
  let summary: TestSummary | undefined;
  const code = await lines(
    context,
    context.node,
    ['--test', '--test-reporter=./test/support/testReporter.ts', ...options, ...files],
    (line) => {
      if (line.startsWith(SUMMARY_MARK)) summary = JSON.parse(line.slice(SUMMARY_MARK.length)) as TestSummary;
      else if (line !== '') show(line);
    },
  );
  if (summary === undefined) {
    show(`  node --test ended with ${code} before it told its results`);
    return { passed: 0, failed: 1, skipped: [] };
  }
  // A file that crashes after its tests passed, or an error outside of tests.
  if (code !== 0 && summary.failed === 0) {
    show(`  node --test ended with ${code} though no test failed`);
    return { ...summary, failed: 1 };
  }
  return summary;
}

async function vectors(context: StageContext, show: (line: string) => void): Promise<TestSummary> {
  let total: TestSummary | undefined;
  const said: string[] = [];
  const code = await lines(context, context.node, ['test/vectors/run.ts'], (line) => {
    said.push(line);
    const found = /^total: ([0-9]+) passed, ([0-9]+) failed/.exec(line);
    if (found !== null) total = { passed: Number(found[1]), failed: Number(found[2]), skipped: [] };
  });
  if (code === 0 && total !== undefined && total.failed === 0) return total;
  for (const line of said.filter((l) => !/: [0-9]+ passed, 0 failed|not covered/.test(l)).slice(-80)) show(`  ${line}`);
  return { passed: total?.passed ?? 0, failed: Math.max(1, total?.failed ?? 1), skipped: [] };
}

/** Runs a command and hands over its output line by line; resolves with the exit code (1 when it was killed). */
function lines(context: StageContext, command: string, args: string[], take: (line: string) => void): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: context.project,
      env: { ...process.env, PATH: `${join(context.project, 'node_modules', '.bin')}:${systemPath}`, FORCE_COLOR: '0', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      let rest = '';
      stream.setEncoding('utf8');
      stream.on('data', (chunk: string) => {
        const parts = (rest + chunk).split('\n');
        rest = parts.pop() ?? '';
        for (const line of parts) take(line);
      });
      stream.on('end', () => {
        if (rest !== '') take(rest);
      });
    }
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}
