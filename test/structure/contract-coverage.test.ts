import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import test from 'node:test';

const project = resolve(import.meta.dirname, '../..');
/** The parts of the contract that the document covers, by number. */
const SECTIONS = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16, 17];

interface Row {
  section: number;
  text: string;
  tests: { file: string; name: string | undefined }[];
}

/** The tables of the document: rows of two cells, a line `file › name` (or only the file) for each test. */
function rowsOf(document: string): Row[] {
  const rows: Row[] = [];
  let section = 0;
  for (const line of document.split('\n')) {
    section = Number(/^## ([0-9]+)\./.exec(line)?.[1] ?? section);
    const [, text, tests] = /^\| (.+?) \| (.*) \|$/.exec(line) ?? [];
    if (text === undefined || tests === undefined || text === 'row' || text === '---') continue;
    const named = tests.split('<br>').map((t) => {
      const [, file = '', name] = /^`([^`]+)`(?: › (.+))?$/.exec(t.trim()) ?? [];
      return { file, name };
    });
    rows.push({ section, text, tests: named });
  }
  return rows;
}

test('each row of docs/contract-coverage.md names tests that exist', async () => {
  const rows = rowsOf(await readFile(resolve(project, 'docs/contract-coverage.md'), 'utf8'));
  assert.ok(rows.length > 100, `${rows.length} rows`);
  assert.deepEqual([...new Set(rows.map((r) => r.section))], SECTIONS);
  const texts = new Map<string, string>();
  const faults: string[] = [];
  for (const { text, tests } of rows) {
    for (const { file, name } of tests) {
      if (!/\.test\.ts$|^test\/vectors\/topics\//.test(file)) faults.push(`${text}: "${file}" is no test`);
      else {
        if (!texts.has(file)) texts.set(file, await readFile(resolve(project, file), 'utf8').catch(() => ''));
        const content = texts.get(file) ?? '';
        if (content === '') faults.push(`${text}: there is no ${file}`);
        else if (name !== undefined && !content.includes(name)) faults.push(`${text}: ${file} has no test "${name}"`);
        else if (name === undefined && file.endsWith('.test.ts') && !/\b(it|test)\(/.test(content))
          faults.push(`${text}: ${file} is empty`);
      }
    }
  }
  assert.deepEqual(faults, []);
});
