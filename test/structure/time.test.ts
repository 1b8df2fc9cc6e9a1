import assert from 'node:assert/strict';
import test from 'node:test';
import { transformSync } from 'esbuild';
import { read, typescriptFiles } from './sourceFiles.ts';

const FORBIDDEN =
  /\b(setTimeout|setInterval|Date\.now|performance\.now|process\.hrtime|AbortSignal\.timeout)\b|\bnew Date\(\)|from "(?:node:)?timers(?:\/promises)?"/g;

/** Uses of the machine's time in a source; comments and types are dropped by a real parser first. */
function timeUses(text: string): string[] {
  const { code } = transformSync(text, { loader: 'ts', legalComments: 'none' });
  return [...code.matchAll(FORBIDDEN)].map((m) => m[0]);
}

test('time comes from Clock: no timers or clocks outside src/host', () => {
  const faults = typescriptFiles('src')
    .filter((p) => !p.startsWith('src/host/'))
    .flatMap((p) => timeUses(read(p)).map((use) => `${p}: ${use}`));
  assert.deepEqual(faults, []);
});

test('the rule finds what it forbids, and not what only looks like it', () => {
  const code = 'const a = Date.now(); setTimeout(() => {}, 1); AbortSignal.timeout(5); new Date(); new Date(0); // performance.now()';
  assert.deepEqual(timeUses(code), ['Date.now', 'setTimeout', 'AbortSignal.timeout', 'new Date()']);
});
