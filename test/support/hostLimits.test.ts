import assert from 'node:assert/strict';
import test from 'node:test';
import { parseHostLimits, unexcused } from './hostLimits.ts';

test('an entry excuses the tests that it names and no others', () => {
  const limits = parseHostLimits('# comment\n\nmounts an NFS export | kernel without nfs | not verified\n');
  assert.deepEqual(limits, [{ test: 'mounts an NFS export', reason: 'kernel without nfs', coveredBy: 'not verified' }]);
  const skipped = [{ name: 'a pod mounts an NFS export' }, { name: 'a pod mounts an ISCSI disk' }];
  assert.deepEqual(unexcused(skipped, limits), [skipped[1]]);
});

test('an entry without reason or twin is refused', () => {
  for (const line of ['x', 'x | y', 'x | | z', '| y | z', 'a | b | c | d']) assert.throws(() => parseHostLimits(line), /host-limits:1/);
});
