import { basename, relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** Totals of one `node --test` process, written as the last line after `SUMMARY_MARK`. */
export interface TestSummary {
  passed: number;
  failed: number;
  /** Full name of every skipped test with the reason that it gave. */
  skipped: { name: string; reason: string }[];
}

export const SUMMARY_MARK = '##summary ';

/** Reporter for `node --test`: tells failures at once and every slow test, and ends with the totals for `test/run.ts`. */
export default async function* testReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const summary: TestSummary = { passed: 0, failed: 0, skipped: [] };
  const errors = new Map<string, string>();
  const slowMs = Number(process.env['KTS_TEST_TELL_MS'] ?? 5_000);
  for await (const event of source) {
    if (event.type === 'test:pass') {
      const { name, details, file } = event.data;
      // Whole files come as a test of their own when run in processes; one that passes tells nothing.
      if (details.type === 'suite' || isWholeFile(name, file)) continue;
      const reason = skipReason(event.data);
      if (reason !== undefined) summary.skipped.push({ name, reason });
      else {
        summary.passed++;
        if (details.duration_ms >= slowMs) yield `    ${shortPath(file)}: ${name} (${(details.duration_ms / 1000).toFixed(1)} s)\n`;
      }
    } else if (event.type === 'test:fail') {
      const { name, details, file, line } = event.data;
      if (isOnlyChildren(details.error)) continue; // the children have told what failed
      summary.failed++;
      yield `  ✗ ${shortPath(file)}:${line ?? ''} ${name}\n${indent(describe(details.error))}\n`;
      // A file that failed as a whole told why on standard error only.
      if (isWholeFile(name, file)) yield `${indent((errors.get(file ?? '') ?? '').trim())}\n`;
    } else if (event.type === 'test:stderr') {
      errors.set(event.data.file, ((errors.get(event.data.file) ?? '') + event.data.message).slice(-4_000));
    }
  }
  yield `${SUMMARY_MARK}${JSON.stringify(summary)}\n`;
}

function isWholeFile(name: string, file: string | undefined): boolean {
  return file !== undefined && name.endsWith('.ts') && file.endsWith(`/${basename(name)}`);
}

function shortPath(file: string | undefined): string {
  return file === undefined ? '' : relative(process.cwd(), file);
}

function skipReason(data: { skip?: string | boolean; todo?: string | boolean }): string | undefined {
  if (data.skip !== undefined && data.skip !== false) return typeof data.skip === 'string' ? data.skip : '';
  return data.todo !== undefined && data.todo !== false ? 'todo' : undefined;
}

function isOnlyChildren(error: Error & { failureType?: string }): boolean {
  return error.failureType === 'subtestsFailed';
}

function describe(error: Error): string {
  const cause = error.cause;
  if (cause instanceof Error) return cause.stack ?? cause.message;
  return typeof cause === 'string' ? cause : (error.stack ?? error.message);
}

function indent(text: string): string {
  return text
    .split('\n')
    .slice(0, 40)
    .map((l) => `      ${l}`)
    .join('\n');
}
