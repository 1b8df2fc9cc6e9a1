import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { status } from '@grpc/grpc-js';
import type { Pod } from '../../src/api/types.ts';
import { isMounted, loopFiles } from '../support/csi/backing.ts';
import { Capability, type CsiDriver, type CsiDriverOptions } from '../support/csi/driver.ts';
import { type CsiRun, CsiWorld } from '../support/csi/world.ts';
import { podWith } from '../support/volumes.ts';

/*
 * CSI volumes on the real kernel: a driver on a real socket, bind mounts and loop devices. No runtime and no API server; with these
 * see test/e2e/csi.test.ts.
 */

const never = new AbortController().signal;
const options = { skip: process.getuid?.() === 0 ? false : 'needs root', timeout: 300_000 };

async function nothingLeft(world: CsiWorld, run: CsiRun): Promise<void> {
  assert.deepEqual(await world.leftovers(run), []);
}

/** The pod `a` has the volume of a claim `pv` of a driver `d`. */
async function oneMounted(world: CsiWorld, options?: Partial<CsiDriverOptions>): Promise<{ driver: CsiDriver; run: CsiRun; pod: Pod }> {
  const driver = await world.driver('d', {}, options);
  world.persistent('pv', 'd');
  const run = await world.run();
  const pod = world.podOf('a', 'pv');
  await run.manager.mount(pod, never);
  return { driver, run, pod };
}

describe('CSI volumes', options, () => {
  it('of one claim are staged once for two pods, and unstaged after the second', async () => {
    await using world = await CsiWorld.start();
    const driver = await world.driver('d', {});
    world.persistent('pv', 'd');
    const run = await world.run();
    const [a, b] = [world.podOf('a', 'pv', { spec: { securityContext: { fsGroup: 777 } } }), world.podOf('b', 'pv')];
    await run.manager.mount(a, never);
    await run.manager.mount(b, never);
    await run.manager.mount(b, never);
    writeFileSync(join(world.target('a', 'pv'), 'x'), 'shared');
    assert.equal(readFileSync(join(world.target('b', 'pv'), 'x'), 'utf8'), 'shared');
    assert.equal(statSync(world.target('a', 'pv')).gid, 777);
    assert.equal(driver.requests('NodeStageVolume').length, 1);
    assert.equal(driver.requests('NodePublishVolume').length, 2);
    const [usage] = await run.manager.usageOf(a);
    assert.ok(usage !== undefined && (usage.capacityBytes ?? 0) > 0 && usage.claim?.name === 'pv');
    await run.manager.unmount(a, never);
    assert.equal(isMounted(world.target('b', 'pv')), true);
    assert.equal(driver.requests('NodeUnstageVolume').length, 0);
    await run.manager.unmount(b, never);
    await nothingLeft(world, run);
    assert.equal(driver.requests('NodeUnstageVolume').length, 1);
    assert.equal(readFileSync(join(driver.backing.directory('handle-pv'), 'x'), 'utf8'), 'shared');
  });

  it('give the group and the access mode to a driver that can have them', async () => {
    await using world = await CsiWorld.start();
    const driver = await world.driver('d', {}, { capabilities: Object.values(Capability) });
    world.persistent('pv', 'd', { accessModes: ['ReadWriteOncePod'] });
    const run = await world.run();
    const pod = world.podOf('a', 'pv', { spec: { securityContext: { fsGroup: 777 } } });
    await run.manager.mount(pod, never);
    for (const name of ['NodeStageVolume', 'NodePublishVolume']) {
      const capability = driver.requests(name)[0]?.['volumeCapability'] as {
        mount: { volumeMountGroup: string };
        accessMode: { mode: number };
      };
      assert.equal(capability.mount.volumeMountGroup, '777');
      assert.equal(capability.accessMode.mode, 6);
    }
    assert.notEqual(statSync(world.target('a', 'pv')).gid, 777);
    await run.manager.unmount(pod, never);
    await nothingLeft(world, run);
  });

  it('are not staged where the driver does not', async () => {
    await using world = await CsiWorld.start();
    const { driver, run, pod } = await oneMounted(world, { capabilities: [] });
    assert.equal(driver.requests('NodePublishVolume')[0]?.['stagingTargetPath'], '');
    assert.deepEqual(await run.manager.usageOf(pod).catch(() => []), []);
    await run.manager.unmount(pod, never);
    await nothingLeft(world, run);
    assert.deepEqual([driver.requests('NodeStageVolume'), driver.requests('NodeUnstageVolume')], [[], []]);
  });

  it('are published again at each sync where the driver wants it, and inline ones live as long as their pod', async () => {
    await using world = await CsiWorld.start();
    const driver = await world.driver('d', { requiresRepublish: true, podInfoOnMount: true, tokenRequests: [{ audience: 'a' }] });
    world.persistent('pv', 'd');
    const run = await world.run();
    const claimed = world.podOf('a', 'pv');
    const inline = podWith('b', [{ name: 'v', csi: { driver: 'd' } }]);
    for (const pod of [claimed, inline]) {
      await run.manager.mount(pod, never);
      await run.manager.refresh(pod, never);
    }
    const published = driver.requests('NodePublishVolume');
    assert.deepEqual(
      published.map((request) => request['targetPath']),
      [world.target('a', 'pv'), world.target('a', 'pv'), world.target('b', 'v'), world.target('b', 'v')],
    );
    const context = published[3]?.['volumeContext'] as Record<string, string> | undefined;
    assert.equal(context?.['csi.storage.k8s.io/ephemeral'], 'true');
    assert.equal(context?.['csi.storage.k8s.io/serviceAccount.tokens'], '{"a":{"expirationTimestamp":"2030-01-01T00:00:00Z","token":"t"}}');
    assert.equal(driver.requests('NodeStageVolume').length, 1);
    for (const pod of [claimed, inline]) await run.manager.unmount(pod, never);
    await nothingLeft(world, run);
  });

  it('wait for a driver that is away, also to be taken down', async () => {
    await using world = await CsiWorld.start();
    const { driver, run, pod } = await oneMounted(world);
    world.unregister(driver);
    await assert.rejects(run.manager.unmount(pod, never), /driver name d not found in the list of registered CSI drivers/);
    assert.equal(isMounted(world.target('a', 'pv')), true);
    const other = world.podOf('b', 'pv');
    const mounted = run.manager.mount(other, never);
    await world.told('not found in the list of registered CSI drivers');
    world.register(driver);
    run.manager.poke('b');
    await mounted;
    for (const p of [pod, other]) await run.manager.unmount(p, never);
    await nothingLeft(world, run);
  });

  it('that take long to be taken down do not hold up the end of the agent', async () => {
    await using world = await CsiWorld.start();
    const { driver, run, pod } = await oneMounted(world);
    const gate = Promise.withResolvers<void>();
    driver.faults.set('NodeUnpublishVolume', { kind: 'slow', until: gate.promise });
    const stop = new AbortController();
    const unmounting = assert.rejects(run.manager.unmount(pod, stop.signal), /AbortError/);
    stop.abort();
    await unmounting;
    gate.resolve();
    await run.manager.unmount(pod, never);
    assert.equal(driver.requests('NodeUnpublishVolume').length, 1);
    await nothingLeft(world, run);
  });

  it('that are block devices have the paths of the real kubelet, and hold the device', async () => {
    await using world = await CsiWorld.start();
    const driver = await world.driver('d', {});
    driver.backing.makeImage('handle-pv', 4 << 20);
    world.persistent('pv', 'd', { volumeMode: 'Block' });
    const run = await world.run();
    const pod = world.podOf('a', 'pv', { block: true });
    await run.manager.mount(pod, never);
    const devices = join(world.bed.root, 'plugins/kubernetes.io/csi/volumeDevices');
    const link = join(world.bed.podsDir, 'a/volumeDevices/kubernetes.io~csi/pv');
    assert.equal(readlinkSync(link), join(devices, 'publish/pv/a'));
    assert.equal(statSync(link).isBlockDevice(), true);
    assert.equal(lstatSync(join(devices, 'pv/dev/a')).isBlockDevice(), true);
    assert.equal(JSON.parse(readFileSync(join(devices, 'pv/data/vol_data.json'), 'utf8')).specVolID, 'pv');
    assert.equal(driver.requests('NodeStageVolume')[0]?.['stagingTargetPath'], join(devices, 'staging/pv'));
    assert.ok(loopFiles().includes(join(devices, 'pv/dev/a')));
    assert.deepEqual(await run.manager.devicesOf(pod, pod.spec.containers[0] ?? { name: '' }), [
      { hostPath: link, containerPath: '/dev/v', permissions: 'mrw' },
    ]);
    await run.manager.unmount(pod, never);
    await nothingLeft(world, run);
    assert.equal(existsSync(join(devices, 'pv')), false);
    assert.equal(driver.backing.device('handle-pv'), undefined);
  });

  it('grow while they are used, and the claim is told', async () => {
    await using world = await CsiWorld.start();
    const driver = await world.driver('d', {});
    driver.backing.makeImage('handle-pv', 8 << 20);
    world.persistent('pv', 'd', { volumeMode: 'Block' });
    const run = await world.run();
    const pod = world.podOf('a', 'pv', { block: true });
    await run.manager.mount(pod, never);
    const pv = world.bed.objects.persistentVolumes.get('pv');
    world.bed.objects.persistentVolumes.set('pv', {
      ...pv,
      metadata: { name: 'pv' },
      spec: { ...pv?.spec, capacity: { storage: '12Mi' } },
    });
    await run.manager.refresh(pod, never);
    await run.manager.refresh(pod, never);
    assert.equal(driver.requests('NodeExpandVolume').length, 1);
    assert.equal(driver.backing.size('handle-pv'), 12 << 20);
    assert.deepEqual(world.claimPatches, [{ status: { capacity: { storage: '12Mi' }, allocatedResourceStatuses: { storage: null } } }]);
    assert.ok(world.bed.events.includes('FileSystemResizeSuccessful: MountVolume.NodeExpandVolume succeeded for volume "pv" '));
    await run.manager.unmount(pod, never);
    await nothingLeft(world, run);
  });

  it('are found again by an agent that was killed, wherever it stood', async () => {
    await using world = await CsiWorld.start();
    const driver = await world.driver('d', {});
    driver.backing.makeImage('handle-block', 4 << 20);
    world.persistent('pv', 'd');
    world.persistent('block', 'd', { volumeMode: 'Block' });
    const pods = [world.podOf('a', 'pv'), world.podOf('b', 'block', { block: true })];
    const first = await world.run();
    for (const pod of pods) await first.manager.mount(pod, never);
    // The second one takes them down without having seen their pods.
    const second = await world.run();
    assert.deepEqual(
      second.staged
        .inUse()
        .map(({ name }) => name)
        .sort(),
      ['block', 'pv'],
    );
    await second.manager.releaseUnknown(() => false);
    await nothingLeft(world, second);
    // A pod that goes on is published again, and what it has stays.
    const [pod] = pods;
    assert.ok(pod);
    const third = await world.run();
    await third.manager.mount(pod, never);
    const fourth = await world.run();
    await fourth.manager.refresh(pod, never);
    assert.equal(isMounted(world.target('a', 'pv')), true);
    driver.faults.set('NodePublishVolume', { kind: 'error', code: status.INTERNAL });
    const fifth = await world.run();
    await fifth.manager.refresh(pod, never);
    assert.equal(isMounted(world.target('a', 'pv')), true, 'the pod uses it');
    await fifth.manager.unmount(pod, never);
    await nothingLeft(world, fifth);
  });

  it('leave nothing where the driver refuses them, and data of others is never removed', async () => {
    await using world = await CsiWorld.start();
    const driver = await world.driver('d', { volumeLifecycleModes: ['Persistent'] });
    world.persistent('pv', 'd');
    const run = await world.run();
    const pod = world.podOf('a', 'pv');
    const abort = new AbortController();
    driver.faults.set('NodePublishVolume', { kind: 'error', code: status.INVALID_ARGUMENT, text: 'no such colour' });
    const mounting = run.manager.mount(pod, abort.signal).catch((err: unknown) => err);
    await world.told('rpc error: code = InvalidArgument desc = no such colour');
    abort.abort();
    await mounting;
    // Somebody has put a file where the volume should be.
    mkdirSync(world.target('a', 'pv'), { recursive: true });
    writeFileSync(join(world.target('a', 'pv'), 'precious'), 'data');
    driver.faults.set('NodeUnpublishVolume', { kind: 'lie' });
    await assert.rejects(run.manager.unmount(pod, never), /ENOTEMPTY/);
    assert.equal(readFileSync(join(world.target('a', 'pv'), 'precious'), 'utf8'), 'data');
    execFileSync('rm', [join(world.target('a', 'pv'), 'precious')]);
    await run.manager.unmount(pod, never);
    await nothingLeft(world, run);
  });
});
