import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import test from 'node:test';
import { faultsOfNamedTests } from './namedTests.ts';

const project = resolve(import.meta.dirname, '../..');
/** The parts of the contract that the document covers, by number. */
const SECTIONS = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17];

interface Row {
  section: number;
  text: string;
  /** The cell. */
  tests: string;
}

/** The tables of the document: rows of two cells. */
function rowsOf(document: string): Row[] {
  const rows: Row[] = [];
  let section = 0;
  for (const line of document.split('\n')) {
    section = Number(/^## ([0-9]+)\./.exec(line)?.[1] ?? section);
    const [, text, tests] = /^\| (.+?) \| (.*) \|$/.exec(line) ?? [];
    if (text === undefined || tests === undefined || text === 'row' || text === '---') continue;
    rows.push({ section, text, tests });
  }
  return rows;
}

test('each row of docs/contract-coverage.md names tests that exist', async () => {
  const rows = rowsOf(await readFile(resolve(project, 'docs/contract-coverage.md'), 'utf8'));
  assert.ok(rows.length > 100, `${rows.length} rows`);
  assert.deepEqual([...new Set(rows.map((r) => r.section))], SECTIONS);
  const faults: string[] = [];
  for (const { text, tests } of rows) faults.push(...(await faultsOfNamedTests(tests)).map((fault) => `${text}: ${fault}`));
  assert.deepEqual(faults, []);
});
