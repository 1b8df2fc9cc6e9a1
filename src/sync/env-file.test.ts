import assert from 'node:assert/strict';
import test from 'node:test';
import { EnvFileError, envFileValue } from './env-file.ts';

test('values in single quotes, over lines, among comments and blanks', () => {
  const text = "# head\n\n  A='one'  # behind\nB='first\nsecond'\nC= 'x'\nD='#not a comment'\n";
  assert.equal(envFileValue(text, 'A'), 'one');
  assert.equal(envFileValue(text, 'B'), 'first\nsecond');
  assert.equal(envFileValue(text, 'C'), undefined, 'a blank behind = makes it empty');
  assert.equal(envFileValue(text, 'D'), '#not a comment');
  assert.equal(envFileValue(text, 'E'), undefined);
  assert.equal(envFileValue("A='no newline at the end'", 'A'), 'no newline at the end');
});

test('what is no env file is told with its line, unless the key came before', () => {
  const cases: [string, RegExp][] = [
    ['A', /line 1: missing/],
    ["\n='x'", /line 2: empty/],
    ["A ='x'", /whitespace before/],
    ['A=x', /single quotes/],
    ["A='x", /unclosed/],
    ["B='1\n2'\nA='x' y", /line 3: unexpected/],
  ];
  for (const [text, error] of cases) assert.throws(() => envFileValue(text, 'A'), error, text);
  assert.throws(() => envFileValue('A', 'A'), EnvFileError);
  assert.equal(envFileValue("A='x'\nbroken", 'A'), 'x');
});
