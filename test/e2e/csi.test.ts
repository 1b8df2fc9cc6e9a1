import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { CsiBed } from '../support/csi/bed.ts';
import { CsiDriver } from '../support/csi/driver.ts';
import { bedPrefix } from '../support/leftovers.ts';
import { startCluster } from './cluster/cluster.ts';

/*
 * CSI with a real API server, scheduler and attach-detach controller, and with a driver of this test on real directories and loop
 * devices; the test plays the part of the external attacher.
 */

test('CSI drivers and their volumes', { timeout: 600_000 }, async (t) => {
  await using cluster = await startCluster();
  const node = await cluster.addNode({ config: { syncFrequency: '2s' } });
  await node.waitReady();
  const { api } = cluster;
  const dataDir = await mkdtemp(join(tmpdir(), bedPrefix('csi')));
  t.after(() => rm(dataDir, { recursive: true }));
  const bed = new CsiBed(cluster, node, dataDir);
  const csiNode = `/apis/storage.k8s.io/v1/csinodes/${node.name}`;

  await t.test('a driver stands in the CSINode and at the node, and is gone with its socket', async () => {
    await using driver = new CsiDriver({
      name: 'first.csi.example',
      rootDir: node.agent.rootDir,
      dataDir,
      nodeId: 'its-own-name',
      maxVolumes: 7,
      topology: { 'topology.csi.example/rack': 'r1' },
    });
    await driver.start();
    assert.equal(await driver.told(), '');
    const { spec } = await api.get(csiNode);
    assert.deepEqual(spec.drivers, [
      { name: driver.name, nodeID: 'its-own-name', topologyKeys: ['topology.csi.example/rack'], allocatable: { count: 7 } },
    ]);
    const { metadata } = await api.get(`/api/v1/nodes/${node.name}`);
    assert.equal(metadata.annotations?.['csi.volume.kubernetes.io/nodeid'], '{"first.csi.example":"its-own-name"}');
    assert.equal(metadata.labels?.['topology.csi.example/rack'], 'r1');
    driver.stop();
    await cluster.until('the driver to be gone', async () => (await api.get(csiNode)).spec.drivers === null);
    await cluster.until('the annotation to be gone', async () => {
      const { annotations } = (await api.get(`/api/v1/nodes/${node.name}`)).metadata;
      return annotations?.['csi.volume.kubernetes.io/nodeid'] === undefined;
    });
  });

  await t.test('a volume of a claim: staged, published with what its driver wants to know, and taken down', async (t) => {
    await using driver = await bed.driver('fs.csi.example', {
      attachRequired: false,
      podInfoOnMount: true,
      fsGroupPolicy: 'File',
      tokenRequests: [{ audience: 'vault' }],
      requiresRepublish: true,
      volumeLifecycleModes: ['Persistent', 'Ephemeral'],
    });
    await api.post('/api/v1/namespaces/default/secrets', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'csi' },
      stringData: { password: 'geheim' },
    });
    const secret = { namespace: 'default', name: 'csi' };
    await bed.persistent('one', driver.name, {
      mountOptions: ['noatime'],
      csi: {
        fsType: 'ext4',
        volumeAttributes: { colour: 'red', 'csi.storage.k8s.io/pod.name': 'forged' },
        nodeStageSecretRef: secret,
        nodePublishSecretRef: secret,
      },
    });
    const claim = { persistentVolumeClaim: { claimName: 'one' } };
    await bed.pod('one', 'echo written > /v/file; stat -c "%g %a" /v/file; sleep 3600', claim, {
      spec: { securityContext: { fsGroup: 4321 } },
    });
    const pod = await bed.running('one');
    await bed.output('one', /^4321 /);
    assert.equal(readFileSync(join(driver.backing.directory('handle-one'), 'file'), 'utf8'), 'written\n');

    const [staged] = driver.requests('NodeStageVolume');
    const staging = String(staged?.['stagingTargetPath']);
    assert.match(staging, /\/plugins\/kubernetes\.io\/csi\/fs\.csi\.example\/[0-9a-f]{64}\/globalmount$/);
    assert.deepEqual(staged?.['secrets'], { password: 'geheim' });
    assert.deepEqual(staged?.['volumeCapability'], {
      mount: { fsType: 'ext4', mountFlags: ['noatime'], volumeMountGroup: '' },
      accessMode: { mode: 1 },
    });
    assert.deepEqual(await bed.volData(join(staging, '..')), { driverName: driver.name, volumeHandle: 'handle-one' });
    const [published] = driver.requests('NodePublishVolume');
    const { 'csi.storage.k8s.io/serviceAccount.tokens': tokens, ...context } = (published?.['volumeContext'] ?? {}) as Record<
      string,
      string
    >;
    assert.deepEqual(context, {
      colour: 'red',
      'csi.storage.k8s.io/pod.name': 'one',
      'csi.storage.k8s.io/pod.namespace': 'default',
      'csi.storage.k8s.io/pod.uid': pod.metadata.uid,
      'csi.storage.k8s.io/serviceAccount.name': 'default',
      'csi.storage.k8s.io/ephemeral': 'false',
    });
    const { vault } = JSON.parse(tokens ?? '{}') as Record<string, { token: string; expirationTimestamp: string }>;
    const payload = JSON.parse(Buffer.from(vault?.token.split('.')[1] ?? '', 'base64url').toString()) as { aud: string[]; exp: number };
    assert.deepEqual(payload.aud, ['vault']);
    assert.equal(Date.parse(vault?.expirationTimestamp ?? '') / 1000, payload.exp);
    const dir = bed.volumeDir(pod, 'one');
    assert.equal(published?.['targetPath'], join(dir, 'mount'));
    assert.equal(published?.['stagingTargetPath'], staging);
    const data = (await bed.volData(dir)) as Record<string, string>;
    assert.match(data['attachmentID'] ?? '', /^csi-[0-9a-f]{64}$/);
    assert.deepEqual(
      { ...data, attachmentID: '' },
      {
        attachmentID: '',
        driverName: driver.name,
        nodeName: node.name,
        specVolID: 'one',
        volumeHandle: 'handle-one',
        volumeLifecycleMode: 'Persistent',
      },
    );

    // Once a sync; staged once all the same.
    await cluster.until('the volume to be published again', async () => driver.requests('NodePublishVolume').length >= 3);
    assert.equal(driver.requests('NodeStageVolume').length, 1);
    assert.equal((await bed.get('one')).status?.containerStatuses[0].restartCount, 0);

    await bed.removed('one');
    await bed.nothingLeft();
    assert.deepEqual(
      driver.calls.map(({ name }) => name).filter((name) => /Unpublish|Unstage/.test(name)),
      ['NodeUnpublishVolume', 'NodeUnstageVolume'],
    );
    assert.equal(existsSync(dir), false);
    assert.equal(existsSync(join(driver.backing.directory('handle-one'), 'file')), true);

    await t.test('an inline volume lives as long as its pod', async () => {
      await bed.pod('inline', 'echo x > /v/y; sleep 3600', {
        csi: { driver: driver.name, fsType: 'ext4', volumeAttributes: { size: '1' }, nodePublishSecretRef: { name: 'csi' } },
      });
      const inline = await bed.running('inline');
      const request = driver.requests('NodePublishVolume').at(-1);
      const context = request?.['volumeContext'] as Record<string, string>;
      assert.equal(context['csi.storage.k8s.io/ephemeral'], 'true');
      assert.deepEqual(request?.['secrets'], { password: 'geheim' });
      assert.equal(request?.['stagingTargetPath'], '');
      assert.match(String(request?.['volumeId']), /^csi-[0-9a-f]{64}$/);
      assert.equal(((await bed.volData(bed.volumeDir(inline, 'v'))) as Record<string, string>)['volumeLifecycleMode'], 'Ephemeral');
      assert.equal(driver.requests('NodeStageVolume').length, 1);
      await bed.removed('inline');
      await bed.nothingLeft();
    });

    await t.test('a driver that is away holds up the pods that need it, until it is back', async () => {
      await bed.pod('stays', 'sleep 3600', claim);
      const stays = await bed.running('stays');
      driver.stop();
      await cluster.until('the driver to be gone', async () => (await api.get(csiNode)).spec.drivers === null);
      await bed.pod('waits', 'sleep 3600', { csi: { driver: driver.name } });
      await bed.event('waits', 'FailedMount', /driver name fs\.csi\.example not found in the list of registered CSI drivers/);
      await bed.remove('stays');
      await bed.pod('other', 'sleep 3600', { emptyDir: {} });
      await bed.running('other');
      assert.ok(await api.find(`/api/v1/namespaces/default/pods/stays`), 'its volume is still published');
      await driver.start();
      await bed.gone('stays');
      await bed.running('waits');
      assert.equal(existsSync(bed.volumeDir(stays, 'one')), false);
      for (const name of ['waits', 'other']) await bed.removed(name);
      await bed.nothingLeft();
    });

    await t.test('an agent that is killed finds its volumes again', async () => {
      await bed.pod('survives', 'echo up; sleep 3600', claim);
      const survives = await bed.running('survives');
      await node.agent.kill('SIGKILL');
      await node.agent.start();
      await node.waitReady();
      const before = driver.requests('NodeStageVolume').length;
      await cluster.until('it to be staged and published again', async () => driver.requests('NodeStageVolume').length > before);
      assert.equal((await bed.get('survives')).status?.containerStatuses[0].restartCount, 0);
      await node.agent.kill('SIGKILL');
      await bed.remove('survives');
      await node.agent.start();
      await bed.gone('survives');
      await bed.nothingLeft();
      assert.equal(existsSync(bed.volumeDir(survives, 'one')), false);
    });
  });

  await t.test('a device that the control plane attaches, that grows, and that a driver which says nothing does not hold up', async () => {
    // Without a CSIDriver a volume is attached.
    await using driver = await bed.driver('block.csi.example', undefined);
    await using mute = await bed.driver('mute.csi.example', { attachRequired: false });
    driver.backing.makeImage('handle-disk', 8 << 20);
    await bed.persistent('disk', driver.name, { volumeMode: 'Block' });
    await bed.persistent('dumb', mute.name);
    mute.faults.set('NodeStageVolume', { kind: 'never' });
    await bed.pod('mute', 'sleep 3600', { persistentVolumeClaim: { claimName: 'dumb' } });
    await bed.pod(
      'disk',
      'echo signed | dd of=/dev/v bs=512 conv=sync,fsync 2>&1; while :; do echo "size $(blockdev --getsize64 /dev/v)"; sleep 1; done',
      { persistentVolumeClaim: { claimName: 'disk' } },
      { block: true },
    );
    const attachment = await bed.attachment('disk');
    await bed.event('disk', 'FailedMapVolume', /Volume not attached according to node status/);
    await api.patch(`${attachment}/status`, { status: { attached: true, attachmentMetadata: { lun: '7' } } });
    await bed.running('disk');
    assert.deepEqual((await node.get())?.status.volumesInUse, ['kubernetes.io/csi/block.csi.example^handle-disk']);
    for (const name of ['NodeStageVolume', 'NodePublishVolume'])
      assert.deepEqual(driver.requests(name)[0]?.['publishContext'], { lun: '7' });
    await bed.output('disk', new RegExp(`size ${8 << 20}`));
    assert.equal(readFileSync(driver.backing.image('handle-disk')).subarray(0, 6).toString(), 'signed');
    await bed.event('disk', 'SuccessfulMountVolume', /MapVolume\.MapPodDevice succeeded for volume "disk" globalMapPath/);

    await api.patch('/api/v1/persistentvolumes/disk', { spec: { capacity: { storage: '16Mi' } } });
    await cluster.until('the claim to have grown', async () => (await bed.claim('disk')).status?.capacity?.storage === '16Mi');
    await bed.output('disk', new RegExp(`size ${16 << 20}`));
    await bed.event('disk', 'FileSystemResizeSuccessful', /NodeExpandVolume succeeded for volume "disk"/);

    assert.equal((await bed.get('mute')).status?.phase, 'Pending');
    await bed.remove('disk');
    await bed.gone('disk');
    await bed.remove('mute');
    mute.stop();
    mute.faults.clear();
    await mute.start();
    await bed.gone('mute');
    await bed.nothingLeft();
    await cluster.until(
      'the volume to be detached',
      async () => (await api.find(attachment))?.metadata.deletionTimestamp !== undefined || (await api.find(attachment)) === undefined,
    );
  });
});
