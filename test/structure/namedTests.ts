import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';

const project = resolve(import.meta.dirname, '../..');
const texts = new Map<string, Promise<string>>();

/** What is wrong with the tests that a cell of a document names: a line `file › name`, or only the file, for each. */
export async function faultsOfNamedTests(cell: string): Promise<string[]> {
  const faults = await Promise.all(cell.split('<br>').map((line) => faultOf(line.trim())));
  return faults.filter((fault) => fault !== undefined);
}

async function faultOf(line: string): Promise<string | undefined> {
  const [, file = '', name] = /^`([^`]+)`(?: › (.+))?$/.exec(line) ?? [];
  if (!/\.test\.ts$|^test\/vectors\/topics\//.test(file)) return `"${line}" is no test`;
  const content = await textOf(file);
  if (content === '') return `there is no ${file}`;
  if (name !== undefined && !content.includes(name)) return `${file} has no test "${name}"`;
  if (name === undefined && file.endsWith('.test.ts') && !/\b(it|test)\(/.test(content)) return `${file} is empty`;
  return undefined;
}

function textOf(file: string): Promise<string> {
  const text = texts.get(file) ?? readFile(resolve(project, file), 'utf8').catch(() => '');
  texts.set(file, text);
  return text;
}
