import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasWaiter } from './file-lock.ts';
import { cgroupOf, countOpenFiles, parseOpenFileLimits } from './own-process.ts';
import { wallTimeMs } from './wall-time.ts';

test('limits of open files', () => {
  const text =
    'Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 unlimited            files\n';
  assert.deepEqual(parseOpenFileLimits(text), { soft: 1024, hard: Number.POSITIVE_INFINITY });
  assert.ok(Number.isNaN(parseOpenFileLimits('').soft));
});

test('open files of this process', async () => {
  assert.ok((await countOpenFiles()) >= 3);
});

test('who waits for a file lock', () => {
  const locks =
    '1: FLOCK  ADVISORY  WRITE 100 08:01:42 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 101 08:01:42 0 EOF\n2: FLOCK  ADVISORY  WRITE 9 08:01:43 0 EOF\n';
  assert.equal(hasWaiter(locks, '08:01:42'), true);
  assert.equal(hasWaiter(locks, '08:01:43'), false);
});

test('the wall clock with a fraction stays by the wall clock', () => {
  for (let i = 0; i < 1000; i++) {
    const before = Date.now();
    const time = wallTimeMs();
    assert.ok(time >= before - 3 && time <= Date.now() + 3);
  }
});

test('the control group of a process', () => {
  assert.equal(cgroupOf('0::/system.slice/kubelet.service\n'), '/system.slice/kubelet.service');
  assert.equal(cgroupOf('5:memory:/a\n4:cpu,cpuacct:/a\n0::/b\n'), '/a');
  assert.equal(cgroupOf('5:memory:/a\n4:cpu:/\n'), undefined);
  assert.equal(cgroupOf(''), undefined);
});
