import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import test from 'node:test';
import { faultsOfNamedTests } from './namedTests.ts';

const project = resolve(import.meta.dirname, '../..');
/** Rows that say in a sentence why there is nothing to test; any other must name a test. */
const SENTENCES = 4;

test('each row of docs/security.md names tests that exist, or is a sentence', async () => {
  const document = await readFile(resolve(project, 'docs/security.md'), 'utf8');
  const rows = document.split('\n').flatMap((line) => {
    const cells = /^\| (.+?) \| (.+?) \| (.+?) \| (.*?)\|$/.exec(line);
    return cells === null || cells[1] === 'id' || cells[1] === '---' ? [] : [{ id: cells[1] ?? '', tests: (cells[4] ?? '').trim() }];
  });
  assert.ok(rows.length >= 29, `${rows.length} rows`);
  assert.equal(rows.filter((r) => r.tests === '').length, SENTENCES);
  const faults: string[] = [];
  for (const { id, tests } of rows.filter((r) => r.tests !== ''))
    faults.push(...(await faultsOfNamedTests(tests)).map((fault) => `${id}: ${fault}`));
  assert.deepEqual(faults, []);
});
