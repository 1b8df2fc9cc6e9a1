import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgramError, type ProgramRun, runProgram } from './run-program.ts';

const node = (script: string, more: Partial<ProgramRun> = {}) =>
  runProgram({
    file: process.execPath,
    args: ['-e', script],
    env: { WORD: 'given' },
    input: 'in',
    maxOutput: 1000,
    signal: new AbortController().signal,
    ...more,
  });
const failure = (message: RegExp, stderr: string) => (err: unknown) => {
  assert.ok(err instanceof ProgramError);
  assert.match(err.message, message);
  assert.equal(err.stderr, stderr);
  return true;
};

test('a program gets input, arguments and environment as they are, and no shell', async () => {
  const script =
    'let i = ""; process.stdin.on("data", (d) => (i += d)).on("end", () => process.stdout.write(i + process.env.WORD + process.argv[1] + Object.keys(process.env).length))';
  const argument = '$(id); `id`';
  assert.equal(await node(script, { args: ['-e', script, argument] }), `ingiven${argument}1`);
});

test('what goes wrong is told: exit status, too much output, no such program, an abort', async () => {
  await assert.rejects(node('process.stderr.write("why"); process.exitCode = 3'), failure(/^exit status 3$/, 'why'));
  await assert.rejects(node('process.stdout.write("x".repeat(2000))'), failure(/^more than 1000 bytes of output$/, ''));
  await assert.rejects(node('', { file: '/no/such/program' }), failure(/^cannot be started: ENOENT$/, ''));
  const abort = new AbortController();
  const hanging = node('process.stdin.resume(); setInterval(() => {}, 1000)', { signal: abort.signal });
  abort.abort(new Error('deadline exceeded'));
  await assert.rejects(hanging, failure(/^deadline exceeded$/, ''));
});

test('a program that does not read its input is no failure', async () => {
  assert.equal(await node('process.stdin.destroy(); process.stdout.write("ok")', { input: 'x'.repeat(1 << 20) }), 'ok');
});
