/**
 * Runs every vector file of a folder (VECTORS_DIR, default the project's fixtures) through the checker of its topic.
 * One line a topic, then a total; exit code 1 when a case failed or a file could not be read.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Checker, fail, type VectorCase, type Verdict } from './checker.ts';

const SHOWN_FAILURES = 5;
const SHOWN_DIFF = 600;
const here = fileURLToPath(new URL('.', import.meta.url));

interface VectorFile {
  topic: string;
  cases: VectorCase[];
}

export interface TopicResult {
  topic: string;
  covered: boolean;
  cases: number;
  failures: { name: string; diff: string }[];
  /** Number of excepted cases by reason. */
  exceptions: Map<string, number>;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** Reads one file's text. Throws an Error that says what is wrong with it. */
export function parseVectorFile(text: string): VectorFile {
  const file: unknown = JSON.parse(text);
  if (!isRecord(file)) throw new Error('not a JSON object');
  const { topic, cases } = file;
  if (typeof topic !== 'string' || !/^[a-z0-9][a-z0-9-]*$/.test(topic))
    throw new Error('no "topic" of lower-case letters, digits and dashes');
  if (!Array.isArray(cases)) throw new Error('no list "cases"');
  const checked = cases.map((c: unknown, index): VectorCase => {
    if (!isRecord(c) || typeof c['name'] !== 'string') throw new Error(`cases[${index}] has no name`);
    if (!isRecord(c['in'])) throw new Error(`case ${JSON.stringify(c['name'])} has no object "in"`);
    if (c['error'] !== undefined && typeof c['error'] !== 'string')
      throw new Error(`case ${JSON.stringify(c['name'])}: "error" is no text`);
    if (c['out'] === undefined && c['error'] === undefined)
      throw new Error(`case ${JSON.stringify(c['name'])} has neither "out" nor "error"`);
    return {
      name: c['name'],
      in: c['in'],
      ...('out' in c ? { out: c['out'] } : {}),
      ...(c['error'] === undefined ? {} : { error: c['error'] }),
    };
  });
  return { topic, cases: checked };
}

async function loadChecker(topic: string): Promise<Checker | undefined> {
  const path = join(here, 'topics', `${topic}.ts`);
  if (!existsSync(path)) return undefined;
  const loaded: { check?: Checker } = await import(path);
  if (typeof loaded.check !== 'function') throw new Error(`topics/${topic}.ts exports no function "check"`);
  return loaded.check;
}

async function judge(check: Checker, c: VectorCase): Promise<Verdict> {
  try {
    return await check(c);
  } catch (error) {
    return fail(`the check threw: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
}

export async function runTopic(file: VectorFile, check: Checker | undefined): Promise<TopicResult> {
  const result: TopicResult = {
    topic: file.topic,
    covered: check !== undefined,
    cases: file.cases.length,
    failures: [],
    exceptions: new Map(),
  };
  if (check === undefined) return result;
  for (const c of file.cases) {
    const verdict = await judge(check, c);
    if (verdict.verdict === 'fail') result.failures.push({ name: c.name, diff: verdict.diff });
    if (verdict.verdict === 'excepted') result.exceptions.set(verdict.reason, (result.exceptions.get(verdict.reason) ?? 0) + 1);
  }
  return result;
}

const exceptedCount = (r: TopicResult): number => [...r.exceptions.values()].reduce((sum, n) => sum + n, 0);

export function describe(r: TopicResult): string[] {
  if (!r.covered) return [`${r.topic}: not covered (${r.cases} cases)`];
  const excepted = exceptedCount(r);
  const lines = [`${r.topic}: ${r.cases - r.failures.length - excepted} passed, ${r.failures.length} failed, ${excepted} excepted`];
  for (const [reason, count] of r.exceptions) lines.push(`  excepted ${count}: ${reason}`);
  for (const { name, diff } of r.failures.slice(0, SHOWN_FAILURES)) lines.push(`  FAILED ${name}: ${diff.slice(0, SHOWN_DIFF)}`);
  if (r.failures.length > SHOWN_FAILURES) lines.push(`  … and ${r.failures.length - SHOWN_FAILURES} more`);
  return lines;
}

/** Runs a folder and prints. Returns whether all is well. */
export async function runFolder(folder: string, print: (line: string) => void, only: readonly string[] = []): Promise<boolean> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  const results: TopicResult[] = [];
  let broken = 0;
  for (const name of names) {
    if (only.length > 0 && !only.includes(name.replace(/\.json$/, ''))) continue;
    try {
      const file = parseVectorFile(await readFile(join(folder, name), 'utf8'));
      const result = await runTopic(file, await loadChecker(file.topic));
      results.push(result);
      for (const line of describe(result)) print(line);
    } catch (error) {
      broken += 1;
      print(`${name}: cannot be used: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const covered = results.filter((r) => r.covered);
  const cases = covered.reduce((sum, r) => sum + r.cases, 0);
  const failed = covered.reduce((sum, r) => sum + r.failures.length, 0);
  const excepted = covered.reduce((sum, r) => sum + exceptedCount(r), 0);
  const uncovered = results.filter((r) => !r.covered).length;
  if (names.length === 0) print(`no *.json in ${folder}`);
  const unusable = broken === 0 ? '' : `, ${broken} files unusable`;
  print(
    `total: ${cases - failed - excepted} passed, ${failed} failed, ${excepted} excepted in ${covered.length} topics; ${uncovered} topics not covered${unusable}`,
  );
  return failed === 0 && broken === 0 && names.length > 0;
}

if (import.meta.main) {
  const folder = process.env['VECTORS_DIR'] ?? join(here, '..', 'fixtures', 'vectors');
  try {
    const ok = await runFolder(folder, (line) => console.log(line), process.argv.slice(2));
    process.exitCode = ok ? 0 : 1;
  } catch (error) {
    console.error(`cannot read the vectors in ${folder}: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
