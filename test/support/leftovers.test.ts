import assert from 'node:assert/strict';
import test from 'node:test';
import { bedPrefix, leftoversOf } from './leftovers.ts';

test('what a test has left is told once its process is over', () => {
  const [alive, dead] = [`/tmp/${bedPrefix('volumes', 7)}x`, `/tmp/${bedPrefix('volumes', 8)}y`];
  const present = {
    mountPoints: ['/', '/proc', `${alive}/pods/m`, `${dead}/pods/m`],
    loopFiles: ['', `${dead}/disk.img`, '/srv/kts/disk.img'],
    directories: [alive, dead, '/tmp/other-8-z'],
  };
  const left = leftoversOf(present, (pid) => pid === 7);
  assert.deepEqual(left, [
    `${dead}/pods/m is still mounted`,
    `a loop device still shows ${dead}/disk.img`,
    'kts-volumes-8-y is still there',
  ]);
});
