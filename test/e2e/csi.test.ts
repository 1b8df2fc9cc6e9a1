import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { CsiDriver } from '../support/csi/driver.ts';
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
  const dataDir = await mkdtemp(join(tmpdir(), 'kts-csi-'));
  t.after(() => rm(dataDir, { recursive: true }));
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
});
