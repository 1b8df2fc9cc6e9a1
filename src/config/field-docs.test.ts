import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { fieldDocs } from './field-docs.ts';
import { fieldByPath, fields } from './fields.ts';

test('docs/configuration.md is what the tables say', async () => {
  const written = await readFile(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
  assert.equal(written, fieldDocs(), 'run: node src/config/field-docs.ts > docs/configuration.md');
});

test('no field and no flag stands twice', () => {
  assert.equal(fieldByPath.size, fields.length);
  const flags = fields.flatMap((f) => (f.flag === undefined ? [] : [f.flag.name]));
  assert.equal(new Set(flags).size, flags.length);
});
