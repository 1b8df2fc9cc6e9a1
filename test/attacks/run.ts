/**
 * `npm run test:attacks`: every attack at its full number of tries, each with a line of how many were made and how many got
 * through. Exit code 1 when one did, or when a test failed otherwise. `npm test` runs the same with fewer tries.
 */
import { globSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { run } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ATTACK_MARK, type AttackCount } from '../support/attack.ts';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const wanted = process.argv.slice(2);
const files = globSync('test/attacks/*.test.ts', { cwd: project })
  .filter((file) => wanted.length === 0 || wanted.some((text) => file.includes(text)))
  .map((file) => join(project, file))
  .sort();
const show = (line: string) => void process.stdout.write(`${line}\n`);
const total = { attacks: 0, tries: 0, escapes: 0, failed: 0, skipped: 0 };

function tell({ name, tries, escapes, outcomes }: AttackCount): void {
  total.attacks++;
  total.tries += tries;
  total.escapes += escapes;
  const how = Object.entries(outcomes).map(([outcome, n]) => `${n} ${outcome}`);
  show(`${escapes === 0 ? '✓' : '✗'} ${name}: ${tries} tries, ${escapes} escapes${how.length === 0 ? '' : ` (${how.join(', ')})`}`);
}

process.env['KTS_ATTACKS'] = 'full';
// One after another: some race against the machine.
for await (const { type, data } of run({ files, cwd: project, concurrency: 1, timeout: 1_200_000 })) {
  if (type === 'test:diagnostic' && data.message.startsWith(ATTACK_MARK)) {
    tell(JSON.parse(data.message.slice(ATTACK_MARK.length)) as AttackCount);
  } else if (type === 'test:pass' && data.skip !== undefined && data.skip !== false) {
    total.skipped++;
    show(`- ${data.name}: not tried here (${String(data.skip)})`);
  } else if (type === 'test:fail' && data.details.error.failureType !== 'subtestsFailed') {
    total.failed++;
    show(`✗ ${relative(project, data.file ?? '')}: ${data.name}`);
    const { cause } = data.details.error;
    show(`    ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`.replaceAll('\n', '\n    '));
  }
}
const skipped = total.skipped === 0 ? '' : `, ${total.skipped} not tried here`;
show(`\n${total.attacks} attacks, ${total.tries} tries, ${total.escapes} escapes, ${total.failed} tests failed${skipped}`);
process.exitCode = total.escapes === 0 && total.failed === 0 && total.attacks > 0 ? 0 : 1;
