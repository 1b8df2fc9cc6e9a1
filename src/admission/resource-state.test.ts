import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SimClock } from '../../test/sim/clock.ts';
import { SimFiles } from '../../test/sim/files.ts';
import type { PodResourceInfo } from '../api/allocation.ts';
import { silentLogger } from '../observe/log.ts';
import { CheckpointError, formatCheckpoint, parseCheckpoint } from './resource-checkpoint.ts';
import { ResourceState } from './resource-state.ts';

const path = '/root/allocated_pods_state';
const info = (cpu: string): PodResourceInfo => ({ containers: { c: { requests: { cpu } } } });

function scene(after?: { saved(): Promise<void> }) {
  const clock = new SimClock();
  const files = new SimFiles(clock);
  files.seed({ '/root/x': '' });
  const state = () => new ResourceState({ files, clock, log: silentLogger, path, gatherMs: 50, ...(after === undefined ? {} : { after }) });
  return { clock, files, state };
}

describe('checkpoint file', () => {
  const name = fc.stringMatching(/^[a-z0-9-]{1,8}$/);
  const map = <T>(value: fc.Arbitrary<T>) => fc.dictionary(name, value, { noNullPrototype: true });
  const requirements = fc.record(
    { limits: map(fc.constantFrom('1', '100m', '64Mi')), requests: map(fc.constant('2')) },
    { noNullPrototype: true },
  );
  const entry = fc.record({ containers: map(requirements), pod: requirements }, { requiredKeys: ['containers'], noNullPrototype: true });
  const entries = map(entry);
  it('gives back what was put in', () => {
    fc.assert(
      fc.property(entries, (given) => {
        const map = new Map<string, PodResourceInfo>(Object.entries(given));
        assert.deepEqual([...parseCheckpoint(formatCheckpoint(map))].sort(), [...map].sort());
      }),
    );
  });
  it('has the form of the real one', () => {
    const text = formatCheckpoint(new Map([['u1', { containers: { web: { limits: { memory: '64Mi' }, requests: { cpu: '250m' } } } }]]));
    const { data, checksum } = JSON.parse(text) as { data: string; checksum: number };
    assert.deepEqual(JSON.parse(data), {
      entries: {
        u1: {
          ContainerResources: { web: { limits: { memory: '64Mi' }, requests: { cpu: '250m' } } },
          PodLevelResources: null,
          EmptyDirVolumeLimits: null,
        },
      },
    });
    // As Go computes it: FNV-1a over `fmt.Fprintf(h, "%v", dump.ForHash(data))` of k8s.io/utils.
    assert.equal(checksum, 3904940840);
  });
  it('is refused when damaged, foreign or torn', () => {
    const good = formatCheckpoint(new Map([['u', info('1')]]));
    const bad = ['', '{', 'null', '[]', '{}', '{"data":1}', '{"data":"{}","checksum":1}', good.replace('cpu', 'cqu'), good.slice(0, -5)];
    for (const text of bad) assert.throws(() => parseCheckpoint(text), CheckpointError, text);
    fc.assert(
      fc.property(fc.string(), (text) => {
        assert.throws(() => parseCheckpoint(text), CheckpointError);
      }),
    );
  });
});

describe('ResourceState', () => {
  it('writes crowds of changes at once, soon after', async () => {
    const { clock, files, state } = scene();
    const s = state();
    for (let i = 0; i < 100; i++) s.set(`u${i}`, info('1'));
    assert.equal(await files.stat(path), undefined);
    await clock.advance(60);
    const again = state();
    await again.load();
    assert.deepEqual(again.get('u99'), info('1'));
  });
  it('is on disk once saved, whatever changes meanwhile', async () => {
    const { clock, state } = scene();
    const s = state();
    s.set('a', info('1'));
    const saved = s.saved();
    s.setContainer('a', 'c', { requests: { cpu: '2' } });
    s.setPodLevel('b', { limits: { cpu: '4' } });
    await saved;
    await clock.advance(100);
    const again = state();
    await again.load();
    assert.deepEqual(again.get('a'), info('2'));
    assert.deepEqual(again.get('b'), { containers: {}, pod: { limits: { cpu: '4' } } });
  });
  it('writes after the state that must be older', async () => {
    const order: string[] = [];
    const { files, state } = scene({ saved: async () => void order.push('older') });
    const s = state();
    s.set('a', info('1'));
    const write = files.writeAtomic.bind(files);
    files.writeAtomic = (...args) => {
      order.push('this');
      return write(...args);
    };
    await s.saved();
    assert.deepEqual(order, ['older', 'this']);
  });
  it('says so when it cannot be written, and is written once it can', async () => {
    const { files, clock, state } = scene();
    const s = state();
    const mend = files.readOnly('/root');
    s.set('a', info('1'));
    await assert.rejects(s.saved(), { code: 'EROFS' });
    mend();
    await s.saved();
    await clock.advance(1);
    const again = state();
    await again.load();
    assert.ok(again.has('a'));
  });
  it('is empty without a file, and refuses a damaged one with the remedy', async () => {
    const { files, state } = scene();
    await state().load();
    files.seed({ [path]: '{"data":"{}","checksum":7}' });
    await assert.rejects(
      state().load(),
      /could not restore state from checkpoint: .*checksum is 7.*please drain this node and delete .*"\/root\/allocated_pods_state"/,
    );
  });
  it('forgets pods', async () => {
    const { state } = scene();
    const s = state();
    for (const uid of ['a', 'b', 'c']) s.set(uid, info('1'));
    s.remove('a');
    s.retain((uid) => uid !== 'b');
    assert.deepEqual(
      ['a', 'b', 'c'].map((uid) => s.has(uid)),
      [false, false, true],
    );
  });
});
