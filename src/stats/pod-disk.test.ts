import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import type { ObservedPod } from '../pleg/types.ts';
import { podDisk } from './pod-disk.ts';

test('hosts file and termination logs count, whatever a container writes into them', async (t) => {
  const root = await mkdtemp(join(tmpdir(), 'pod-disk-'));
  t.after(() => rm(root, { recursive: true }));
  const put = async (path: string, kibibytes: number) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), Buffer.alloc(kibibytes * 1024, 1));
  };
  await put('pods/u/etc-hosts', 64);
  await put('pods/u/containers/c/abc', 128);
  await put('pods/u/containers/c/def', 32);
  await put('pods/u/volumes/kubernetes.io~empty-dir/v/file', 512);
  const pod = { uid: 'u', name: 'p', namespace: 'ns', sandboxes: [], containers: [] } as unknown as ObservedPod;
  const deps = { podLogsDir: join(root, 'logs'), podsDir: join(root, 'pods'), volumes: () => [] };
  const { nodeFiles, podLogs } = await podDisk(deps, pod);
  assert.equal(nodeFiles.inodes, 3);
  assert.ok(nodeFiles.bytes >= 224 * 1024 && nodeFiles.bytes < 256 * 1024, `${nodeFiles.bytes}`);
  assert.deepEqual(podLogs, { bytes: 0, inodes: 0 });
});
