import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cgroupJoin, isWithin, parentPath, requireCgroupPath } from './path.ts';

describe('cgroup paths', () => {
  it('are joined from plain names', () => {
    assert.equal(cgroupJoin('/', 'kubepods', 'pod1'), '/kubepods/pod1');
    assert.equal(cgroupJoin('/a', 'b'), '/a/b');
    assert.equal(cgroupJoin('/'), '/');
  });
  for (const name of ['', '.', '..', 'a/b', '../x', '/', 'a\0b']) {
    it(`never take ${JSON.stringify(name)} as a name`, () => assert.throws(() => cgroupJoin('/kubepods', name), /not the name/));
  }
  it('are checked', () => {
    requireCgroupPath('/');
    requireCgroupPath('/a/b');
    for (const bad of ['', 'a', '/a/', '//', '/a/../b', '/a//b', '/.']) assert.throws(() => requireCgroupPath(bad), bad);
  });
  it('know what is within what', () => {
    assert.ok(isWithin('/a/b', '/a'));
    assert.ok(isWithin('/a', '/a'));
    assert.ok(isWithin('/anything', '/'));
    assert.ok(!isWithin('/ab', '/a'));
    assert.ok(!isWithin('/', '/a'));
    assert.equal(parentPath('/a/b'), '/a');
    assert.equal(parentPath('/a'), '/');
  });
});
