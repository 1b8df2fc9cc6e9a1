import assert from 'node:assert/strict';
import { status } from '@grpc/grpc-js';
import { attack, type Bout } from '../support/attack.ts';
import { isMounted } from '../support/csi/backing.ts';
import type { Fault } from '../support/csi/driver.ts';
import { CsiWorld } from '../support/csi/world.ts';

/*
 * A CSI driver that answers late, twice, wrongly or never. It may hold up the pods that use its volumes, no other, and when it is
 * mended, or gives the volume up, nothing is left of them. Real sockets, mounts and loop devices; no pods.
 */

const skip = process.getuid?.() === 0 ? false : 'needs root';
const never = new AbortController().signal;
/** Of a call to a driver, and so the longest that its own pod waits for one that says nothing. */
const CallMs = 1_000;

async function until(check: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!check()) {
    assert.ok(performance.now() < deadline, `waited 10 s for ${String(check)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A pod of the bad driver is mounted and taken down while the driver is at fault; meanwhile one of a good driver is. */
async function bouts(bout: Bout, call: string, faultOf: () => { fault: Fault; mend(): void }): Promise<void> {
  await using world = await CsiWorld.start(CallMs);
  const bad = await world.driver('bad', {});
  await world.driver('good', {});
  world.persistent('bad', 'bad');
  world.persistent('good', 'good');
  const run = await world.run();
  for (let i = 0; i < bout.tries; i++) {
    const { fault, mend } = faultOf();
    bad.faults.set(call, fault);
    const [victim, other] = [world.podOf(`victim-${i}`, 'bad'), world.podOf(`other-${i}`, 'good')];
    const stop = new AbortController();
    const mounting = run.manager.mount(victim, stop.signal).then(
      () => 'mounted' as const,
      () => 'refused' as const,
    );
    const began = performance.now();
    await run.manager.mount(other, never);
    const served = isMounted(world.target(other.metadata.uid, 'good'));
    await run.manager.unmount(other, never);
    const seconds = (performance.now() - began) / 1000;
    if (!served || seconds > 5) bout.escape(`the other pod waited ${seconds.toFixed(1)} s`);
    // The pod is deleted while it waits, or runs.
    await Promise.race([mounting, new Promise((resolve) => setTimeout(resolve, CallMs / 2))]);
    const ended = await Promise.race([mounting, Promise.resolve('waited' as const)]);
    stop.abort();
    await mounting;
    const first = await run.manager.unmount(victim, never).then(
      () => true,
      () => false,
    );
    bad.faults.clear();
    mend();
    for (let again = 0; !first && again < 20; again++) {
      if (
        await run.manager.unmount(victim, never).then(
          () => true,
          () => false,
        )
      )
        break;
    }
    const left = await world.leftovers(run);
    if (left.length === 0) bout.harmless(ended);
    else bout.escape(`${call} ${fault.kind} left ${left[0]}`);
  }
}

const plain = (fault: Fault) => () => ({ fault, mend: () => {} });
/** Until it is mended the driver waits. */
const held = (kind: 'late' | 'slow') => () => {
  const gate = Promise.withResolvers<void>();
  return { fault: { kind, until: gate.promise } as Fault, mend: () => gate.resolve() };
};

const calls = ['NodeGetCapabilities', 'NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'];
const faults: [string, () => { fault: Fault; mend(): void }][] = [
  ['never answers', plain({ kind: 'never' })],
  ['answers late', held('late')],
  ['answers twice', plain({ kind: 'twice' })],
  ['answers with what is no message', plain({ kind: 'garbage' })],
  ['fails without having done it', plain({ kind: 'error', code: status.INTERNAL })],
  ['says that it has failed when it has not', plain({ kind: 'error-after', code: status.INTERNAL })],
  ['says that it is still at it', plain({ kind: 'error', code: status.ABORTED })],
];

for (const [what, faultOf] of faults) {
  attack(`a CSI driver ${what}`, { tries: 5 * calls.length, shortTries: calls.length, skip }, async (bout) => {
    for (const call of calls) await bouts({ ...bout, tries: Math.ceil(bout.tries / calls.length) }, call, faultOf);
  });
}

attack('a CSI driver says that it is done and has done nothing', { tries: 15, shortTries: 3, skip }, async (bout) => {
  for (const call of ['NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume']) {
    await bouts({ ...bout, tries: Math.ceil(bout.tries / 3) }, call, plain({ kind: 'lie' }));
  }
});

attack('a CSI driver begins when nobody waits any more', { tries: 10, shortTries: 2, skip }, async (bout) => {
  await using world = await CsiWorld.start(CallMs);
  // Without staging, what it binds is still there.
  const driver = await world.driver('bad', {}, { capabilities: [] });
  world.persistent('bad', 'bad');
  const run = await world.run();
  for (let i = 0; i < bout.tries; i++) {
    const gate = Promise.withResolvers<void>();
    driver.faults.set('NodePublishVolume', { kind: 'slow', until: gate.promise });
    const pod = world.podOf(`pod-${i}`, 'bad');
    const stop = new AbortController();
    const mounting = run.manager.mount(pod, stop.signal).catch(() => {});
    await until(() => driver.requests('NodePublishVolume').length > i);
    stop.abort();
    await mounting;
    await run.manager.unmount(pod, never);
    // Now it mounts what has been taken down.
    gate.resolve();
    await until(() => isMounted(world.target(`pod-${i}`, 'bad')));
    driver.faults.clear();
    await run.manager.releaseUnknown(() => false);
    const left = await world.leftovers(run);
    if (left.length === 0) bout.harmless('found and unmounted');
    else bout.escape(`it left ${left[0]}`);
  }
  assert.equal(driver.requests('NodePublishVolume').length, bout.tries);
});
