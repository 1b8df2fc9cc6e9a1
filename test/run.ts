/**
 * `npm test`: all stages, or those that are named (`npm test -- unit sim`; `--list` tells the names). Ends with one line
 * `N passed, N failed[, N skipped]` and exit code 1 when anything failed. With CI=true a stage that cannot run, and a
 * skipped test that test/host-limits does not list, are failures.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cleanUpStaleRuns } from '../scripts/node/cleanUpRun.ts';
import { parseHostLimits, unexcused } from './support/hostLimits.ts';
import { leftovers } from './support/leftovers.ts';
import { stages } from './support/stages.ts';
import type { TestSummary } from './support/testReporter.ts';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const all = stages({ project, node: process.execPath });
const args = process.argv.slice(2);
if (args.includes('--list')) {
  for (const stage of all) process.stdout.write(`${stage.name.padEnd(10)} ${stage.title}\n`);
  process.exit(0);
}
const unknown = args.filter((a) => !all.some((s) => s.name === a));
if (unknown.length > 0) {
  process.stderr.write(`no stage ${unknown.join(', ')}; there are ${all.map((s) => s.name).join(', ')}\n`);
  process.exit(2);
}

const strict = ['true', '1'].includes(process.env['CI'] ?? '');
const limits = parseHostLimits(await readFile(join(project, 'test/host-limits'), 'utf8'));
const total: TestSummary = { passed: 0, failed: 0, skipped: [] };
const show = (line: string) => void process.stdout.write(`${line}\n`);
const seconds = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const began = performance.now();

for (const stage of all) {
  if (args.length > 0 && !args.includes(stage.name)) continue;
  const impossible = stage.impossible?.();
  if (impossible !== undefined) {
    show(`${strict ? '✗' : '-'} ${stage.name}: cannot run here: ${impossible}`);
    if (strict) total.failed++;
    else total.skipped.push({ name: stage.name, reason: impossible });
    continue;
  }
  show(`▶ ${stage.name}: ${stage.title}`);
  try {
    await stage.prepare?.(show);
  } catch (error) {
    show(`✗ ${stage.name}: ${error instanceof Error ? error.message : String(error)}`);
    total.failed++;
    continue;
  }
  const start = performance.now();
  const tick = setInterval(() => show(`  … ${stage.name}, ${seconds(start)}`), 20_000);
  const result = await stage.run(show).finally(() => clearInterval(tick));
  const excluded = unexcused(result.skipped, limits);
  for (const s of result.skipped) {
    const bad = strict && excluded.includes(s);
    show(
      `  ${bad ? '✗ skipped, which test/host-limits does not allow' : '- skipped'}: ${s.name}${s.reason === '' ? '' : ` (${s.reason})`}`,
    );
  }
  const failed = result.failed + (strict ? excluded.length : 0);
  total.passed += result.passed;
  total.failed += failed;
  total.skipped.push(...(strict ? result.skipped.filter((s) => !excluded.includes(s)) : result.skipped));
  show(`${failed === 0 ? '✓' : '✗'} ${stage.name}: ${result.passed} passed, ${failed} failed (${seconds(start)})`);
}

// A test that was killed cannot clean up: what it left is told, removed where that is sure, and counts as a failure.
if (process.getuid?.() === 0) {
  for (const line of [...(await cleanUpStaleRuns()), ...(await leftovers())]) {
    show(`✗ after the tests: ${line}`);
    total.failed++;
  }
}
show(
  `\n${total.passed} passed, ${total.failed} failed${total.skipped.length === 0 ? '' : `, ${total.skipped.length} skipped`} (${seconds(began)})`,
);
process.exitCode = total.failed === 0 ? 0 : 1;
