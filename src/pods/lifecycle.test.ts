import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { podUid } from '../api/brands.ts';
import type { Pod } from '../api/types.ts';
import { applyStep, applyUpdate, mergeUpdates, mustAbort, newLifecycle, type PodUpdate } from './lifecycle.ts';

const uid = podUid('u');
const pod = (over: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid, ...over },
  spec: { containers: [] },
});
const fresh = () => newLifecycle(uid, pod(), false);

describe('lifecycle', () => {
  it('goes sync, terminating, terminated, finished', () => {
    let state = applyUpdate(fresh(), { kills: [{ cause: 'removed' }] });
    assert.equal(state.phase, 'terminating');
    state = applyStep(state, { kind: 'advance' });
    assert.equal(state.phase, 'terminated');
    state = applyStep(state, { kind: 'advance' });
    assert.equal(state.phase, 'finished');
  });
  it('lets the grace only shrink, never below a second', () => {
    let state = applyUpdate(fresh(), { kills: [{ cause: 'requested', graceSeconds: 20 }] });
    const longer = applyUpdate(state, { kills: [{ cause: 'requested', graceSeconds: 40 }] });
    assert.equal(longer.graceSeconds, 20);
    assert.equal(mustAbort(state, longer), false);
    const shorter = applyUpdate(state, { kills: [{ cause: 'requested', graceSeconds: 0 }] });
    assert.equal(shorter.graceSeconds, 1);
    assert.equal(mustAbort(state, shorter), true);
    state = applyUpdate(fresh(), { pod: pod({ deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: 7 }) });
    assert.equal(state.phase, 'terminating');
    assert.equal(state.graceSeconds, 7);
  });
  it('begins anew when the same UID is asked for while it leaves', () => {
    let state = applyUpdate(fresh(), { kills: [{ cause: 'removed' }] });
    state = applyUpdate(state, { pod: pod({ labels: { again: 'yes' } }) });
    assert.equal(state.phase, 'terminating');
    state = applyStep(applyStep(state, { kind: 'advance' }), { kind: 'advance' });
    assert.equal(state.phase, 'sync');
    assert.equal(state.pod.metadata.labels?.['again'], 'yes');
    assert.equal(state.causes.size, 0);
  });
  it('does not begin anew what is removed again', () => {
    let state = applyUpdate(fresh(), { kills: [{ cause: 'removed' }] });
    state = applyUpdate(state, { pod: pod() });
    state = applyUpdate(state, { kills: [{ cause: 'removed' }] });
    state = applyStep(applyStep(state, { kind: 'advance' }), { kind: 'advance' });
    assert.equal(state.phase, 'finished');
  });
  it('keeps what ended by itself until it is taken away', () => {
    let state = applyStep(fresh(), { kind: 'advance' });
    state = applyStep(applyStep(state, { kind: 'advance' }), { kind: 'advance' });
    assert.equal(state.phase, 'finished');
    const updated = applyUpdate(state, { pod: pod({ labels: { a: 'b' } }) });
    assert.equal(updated.phase, 'finished', 'an update does not run it again');
    assert.equal(applyUpdate(state, { kills: [{ cause: 'removed' }] }).phase, 'terminated', 'its remains are cleared');
  });
  it('begins at once when a finished pod that was taken away comes back', () => {
    let state = applyUpdate(fresh(), { kills: [{ cause: 'removed' }] });
    state = applyStep(applyStep(state, { kind: 'advance' }), { kind: 'advance' });
    assert.equal(applyUpdate(state, { pod: pod() }).phase, 'sync');
  });
  it('merges updates: newest pod, all kills, a removal that was taken back is none', () => {
    const merged = mergeUpdates({ pod: pod(), kills: [{ cause: 'requested', graceSeconds: 3 }] }, { pod: pod({ labels: { n: '2' } }) });
    assert.equal(merged.pod?.metadata.labels?.['n'], '2');
    assert.deepEqual(merged.kills, [{ cause: 'requested', graceSeconds: 3 }]);
    assert.deepEqual(mergeUpdates({ kills: [{ cause: 'removed' }] }, { pod: pod() }).kills, []);
  });
  it('merged or one by one, updates lead to a pod that leaves, with the same grace (property)', () => {
    const kill = fc.record({ cause: fc.constantFrom('requested' as const, 'deleted' as const), graceSeconds: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(kill, { minLength: 1, maxLength: 5 }), (kills) => {
        const updates: PodUpdate[] = kills.map((k) => ({ kills: [k] }));
        const oneByOne = updates.reduce(applyUpdate, fresh());
        const merged = applyUpdate(fresh(), updates.reduce<PodUpdate | undefined>((a, b) => mergeUpdates(a, b), undefined) ?? {});
        assert.equal(merged.phase, oneByOne.phase);
        assert.equal(merged.graceSeconds, oneByOne.graceSeconds);
        assert.deepEqual(merged.causes, oneByOne.causes);
      }),
    );
  });
});
