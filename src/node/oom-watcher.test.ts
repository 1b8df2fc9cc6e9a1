import assert from 'node:assert/strict';
import test from 'node:test';
import { recordText } from '../host/kernel-log.ts';
import type { Logger } from '../observe/log.ts';
import { silentLogger } from '../observe/log.ts';
import { parseOomKill } from './oom-kill.ts';
import { OomWatcher } from './oom-watcher.ts';

const inGroup =
  'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=abc,mems_allowed=0,oom_memcg=/kubepods/podu/abc,task_memcg=/kubepods/podu/abc,task=tail,pid=77,uid=0';
const ofSystem =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/user.slice,task=java,pid=9,uid=1000';

test('the kernel says whose memory was over, and which process had to go', () => {
  assert.deepEqual(parseOomKill(inGroup), { isSystem: false, group: '/kubepods/podu/abc', process: 'tail', pid: 77 });
  assert.deepEqual(parseOomKill(ofSystem), { isSystem: true, group: '/user.slice', process: 'java', pid: 9 });
  assert.equal(parseOomKill(inGroup.replace('oom_memcg=/kubepods/podu/abc', 'oom_memcg=/'))?.isSystem, true);
  assert.equal(parseOomKill('Out of memory: Killed process 9 (java) total-vm:1kB'), undefined);
});

test('a process cannot pass its name off as another part of the text', () => {
  const named = parseOomKill(inGroup.replace('task=tail', 'task=x,pid=1,uid=0,task=y'));
  assert.deepEqual([named?.process, named?.pid, named?.group], ['x,pid=1,uid=0,task=y', 77, '/kubepods/podu/abc']);
});

test('a record is its first line after the head', () => {
  assert.equal(recordText('6,339,5140900,-;NET: a; b\n SUBSYSTEM=net\n'), 'NET: a; b');
});

function rig(lines: readonly string[], fails = false) {
  const told: string[] = [];
  const warned: string[] = [];
  const log: Logger = { ...silentLogger, warn: (message) => void warned.push(message) };
  const watcher = new OomWatcher({
    async *kernelLog() {
      if (fails) throw Object.assign(new Error('EPERM: not permitted'), { code: 'EPERM' });
      yield* lines;
    },
    events: { event: (object, type, reason, message) => void told.push(`${object.kind} ${type} ${reason}: ${message}`) },
    node: { kind: 'Node', namespace: '', name: 'n', uid: 'n' },
    log,
    ownerOf: (group) =>
      group.endsWith('/abc')
        ? { namespace: 'ns', pod: 'p', container: 'c', object: { kind: 'Pod', namespace: 'ns', name: 'p', uid: 'u' } }
        : undefined,
    metrics: {
      systemOom: () => void told.push('counted: system'),
      containerOom: ({ namespace, pod, container }) => void told.push(`counted: ${namespace}/${pod}/${container}`),
    },
  });
  return { watcher, told, warned };
}

test('a kill in a container is told of the pod, one of the machine of the node, one elsewhere of nobody', async () => {
  const elsewhere = inGroup.replaceAll('/abc', '/other');
  const { watcher, told, warned } = rig(['usb 1-1: new device', inGroup, elsewhere, ofSystem]);
  watcher.start(new AbortController().signal);
  await watcher.stop();
  assert.deepEqual(told, [
    'counted: ns/p/c',
    'Pod Warning OOMKilling: Container c: it was out of memory, the kernel killed process tail (pid 77)',
    'counted: system',
    'Node Warning SystemOOM: System OOM encountered, victim process: java, pid: 9',
  ]);
  assert.deepEqual(warned, []);
});

test('a kernel log that may not be read is one warning', async () => {
  const { watcher, told, warned } = rig([], true);
  watcher.start(new AbortController().signal);
  await watcher.stop();
  assert.deepEqual([told, warned.length], [[], 1]);
  assert.deepEqual(watcher.health(), { ok: true });
});
