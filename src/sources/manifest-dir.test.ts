import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { MemoryManifests } from '../../test/support/memoryManifests.ts';
import { setReader } from '../../test/support/setReader.ts';
import { ConfigSeenAnnotation, ConfigSourceAnnotation } from '../api/annotations.ts';
import { silentLogger } from '../observe/log.ts';
import { ManifestDir } from './manifest-dir.ts';
import type { PodSet } from './types.ts';

const pod = (name: string, more = '') =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers:\n  - {name: c, image: x}\n${more}`;

interface World {
  clock: SimClock;
  fs: MemoryManifests;
  dir: ManifestDir;
  logged: string[];
  infos: string[];
  events: string[];
  /** The next set; undefined when none comes within `ms` of virtual time. */
  next(ms?: number): Promise<PodSet | undefined>;
  stop(): Promise<void>;
}

function world(files: Record<string, string>, fs = new MemoryManifests('/m', files)): World {
  const clock = new SimClock();
  const logged: string[] = [];
  const infos: string[] = [];
  const events: string[] = [];
  const log = {
    ...silentLogger,
    error: (error: unknown, message: string) => void logged.push(`${message}: ${String(error)}`),
    info: (message: string) => void infos.push(message),
  };
  const recorder = {
    event: (_: unknown, type: string, reason: string, message: string) => void events.push(`${type} ${reason} ${message}`),
  };
  const dir = new ManifestDir({ path: '/m/', nodeName: 'n1', fileCheckFrequencyMs: 20_000, clock, log, events: recorder, fs });
  const abort = new AbortController();
  const reader = setReader(dir.sets(abort.signal), abort, clock, 10);
  return {
    clock,
    fs,
    dir,
    logged,
    infos,
    events,
    next: (ms = 30_000) => reader.next(ms),
    stop: reader.stop,
  };
}

const names = (set: PodSet | undefined) => set?.pods.map(({ metadata }) => metadata.name);

test('a bad manifest takes no other with it and stays listed; it is logged when it changes', async () => {
  const w = world({ 'a.yaml': 'a: [', 'b.yaml': pod('b'), 'c.yaml': 'kind: Pod' });
  const first = await w.next();
  assert.deepEqual(names(first), ['b-n1']);
  assert.deepEqual(
    first?.errors.map(({ file, code }) => [file, code]),
    [
      ['/m/a.yaml', 'syntax'],
      ['/m/c.yaml', 'wrong-kind'],
    ],
  );
  assert.equal(w.logged.length, 2);
  assert.match(w.logged[0] ?? '', /^Could not process manifest file: .*\/m\/a\.yaml:1:/);
  w.fs.put('d.yaml', pod('d'));
  assert.deepEqual(names(await w.next()), ['b-n1', 'd-n1']);
  assert.equal(w.logged.length, 2, 'what was bad before is not told again');
  assert.equal(w.dir.listing().errors.length, 2);
  w.fs.put('a.yaml', pod('a'));
  assert.deepEqual(names(await w.next()), ['a-n1', 'b-n1', 'd-n1']);
  w.fs.put('a.yaml', 'a: [');
  assert.deepEqual(names(await w.next()), ['b-n1', 'd-n1']);
  assert.equal(w.logged.length, 3, 'bad again is news');
  await w.stop();
});

test('an empty directory is a set, and what did not change gives none', async () => {
  const w = world({ '.hidden.yaml': pod('h'), 'sub/x.yaml': pod('x') });
  const first = await w.next();
  assert.deepEqual([first?.pods, first?.errors.map(({ code }) => code)], [[], ['not-a-file']]);
  assert.equal(await w.next(50_000), undefined);
  w.fs.put('a.yaml', pod('a'));
  const second = await w.next();
  w.fs.put('a.yaml', pod('a'));
  assert.equal(await w.next(50_000), undefined, 'written again with the same content');
  w.fs.put('b.yaml', pod('b'));
  const third = await w.next();
  assert.equal(third?.pods[0], second?.pods[0], 'the very same pod while its file is the same');
  await w.stop();
});

test('of two files with one pod the first counts, the other is told by error and event', async () => {
  const w = world({ 'b.yaml': pod('same'), 'a.yaml': pod('same', '  hostNetwork: true\n') });
  const first = await w.next();
  assert.deepEqual([names(first), first?.pods[0]?.spec.hostNetwork], [['same-n1'], true]);
  assert.equal(
    first?.errors[0]?.message,
    '/m/b.yaml: metadata.name: the pod default/same-n1 is already defined in /m/a.yaml (give it another name or namespace, or remove one of the two)',
  );
  assert.match(
    w.events[0] ?? '',
    /^Warning FailedValidation Error validating pod same-n1_default\(\w{32}\) from file due to duplicate pod name "same-n1", ignoring$/,
  );
  w.fs.put('c.yaml', pod('c'));
  await w.next();
  assert.equal(w.events.length, 1);
  await w.stop();
});

test('pods carry their source and when they were first seen', async () => {
  const w = world({ 'a.yaml': pod('a').replace('{name: a}', '{name: a, uid: u}') });
  const seen = (set: PodSet | undefined) => set?.pods[0]?.metadata.annotations?.[ConfigSeenAnnotation];
  const first = await w.next();
  assert.equal(first?.pods[0]?.metadata.annotations?.[ConfigSourceAnnotation], 'file');
  assert.match(seen(first) ?? '', /^2026-01-01T00:00:00/);
  await w.clock.advance(3_600_000);
  w.fs.put('a.yaml', `${pod('a').replace('{name: a}', '{name: a, uid: u}')}  hostNetwork: true\n`);
  assert.equal(seen(await w.next()), seen(first), 'the same UID was seen before');
  await w.stop();
});

test('a priority that the API server would change is told once', async () => {
  const w = world({ 'a.yaml': pod('a', '  priority: 7\n'), 'b.yaml': pod('b', '  priority: 8\n') });
  await w.next();
  assert.equal(w.infos.length, 1);
  assert.match(w.infos[0] ?? '', /priority without a priority class/);
  await w.stop();
});

test('a file that cannot be read is tried again', async () => {
  class Locked extends MemoryManifests {
    locked = true;
    override async read(path: string, maxBytes: number): Promise<Uint8Array> {
      if (this.locked && path.endsWith('/a.yaml')) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
      return super.read(path, maxBytes);
    }
  }
  const fs = new Locked('/m', { 'a.yaml': pod('a'), 'b.yaml': pod('b') });
  const w = world({}, fs);
  const first = await w.next();
  assert.deepEqual([names(first), first?.errors[0]?.message], [['b-n1'], '/m/a.yaml: cannot be read: EACCES']);
  fs.locked = false;
  assert.deepEqual(names(await w.next()), ['a-n1', 'b-n1']);
  assert.equal(w.logged.length, 1);
  await w.stop();
});
