import assert from 'node:assert/strict';
import test from 'node:test';
import { findProgram, hasUser, outputOf } from './programs.ts';

test('a program is found by the folders of the path, in their order and never in a relative one', async () => {
  assert.match((await findProgram('sh')) ?? '', /^\/.*\/sh$/);
  assert.equal(await findProgram('sh', '/bin:/usr/bin'), '/bin/sh');
  assert.equal(await findProgram('sh', 'bin:.:/nowhere'), undefined);
  assert.equal(await findProgram('kubelet-ts-no-such-program'), undefined);
});

test('the output of a program, and its failure', async () => {
  assert.equal(await outputOf('/bin/echo', ['a b']), 'a b\n');
  await assert.rejects(outputOf('/bin/false', []));
});

test('the users of the host', async () => {
  assert.equal(await hasUser('root'), true);
  assert.equal(await hasUser('kubelet-ts-nobody-here'), false);
});
