import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiObject } from '../../e2e/cluster/apiClient.ts';
import type { Cluster } from '../../e2e/cluster/cluster.ts';
import type { ClusterNode } from '../../e2e/cluster/node.ts';
import { podGone, podOutput } from '../../e2e/cluster/pods.ts';
import { shellContainer } from '../shellContainer.ts';
import { loopFiles } from './backing.ts';
import { CsiDriver, type CsiDriverOptions } from './driver.ts';

const Pods = '/api/v1/namespaces/default/pods';
const Claims = '/api/v1/namespaces/default/persistentvolumeclaims';
const Storage = '/apis/storage.k8s.io/v1';

export interface PersistentOptions {
  volumeMode?: 'Filesystem' | 'Block';
  accessModes?: string[];
  capacity?: string;
  csi?: object;
  mountOptions?: string[];
}

/** A cluster with one node, for tests of CSI volumes through the API server. */
export class CsiBed {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  readonly dataDir: string;

  constructor(cluster: Cluster, node: ClusterNode, dataDir: string) {
    this.cluster = cluster;
    this.node = node;
    this.dataDir = dataDir;
  }

  get api() {
    return this.cluster.api;
  }

  /** A driver that is registered. `spec`: of its CSIDriver; undefined: it has none. */
  async driver(name: string, spec: object | undefined, options: Partial<CsiDriverOptions> = {}): Promise<CsiDriver> {
    if (spec !== undefined) {
      await this.api.post(`${Storage}/csidrivers`, { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name }, spec });
    }
    const driver = new CsiDriver({ name, rootDir: this.node.agent.rootDir, dataDir: join(this.dataDir, name), ...options });
    await driver.start();
    assert.equal(await driver.told(), '');
    return driver;
  }

  /** A PersistentVolume and its claim of the same name, bound. */
  async persistent(name: string, driver: string, options: PersistentOptions = {}): Promise<void> {
    const { volumeMode = 'Filesystem', accessModes = ['ReadWriteOnce'], capacity = '8Mi', csi = {}, mountOptions } = options;
    const common = { accessModes, volumeMode, storageClassName: '' };
    await this.api.post('/api/v1/persistentvolumes', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        ...common,
        ...(mountOptions === undefined ? {} : { mountOptions }),
        capacity: { storage: capacity },
        claimRef: { namespace: 'default', name },
        csi: { driver, volumeHandle: `handle-${name}`, ...csi },
        persistentVolumeReclaimPolicy: 'Retain',
      },
    });
    await this.api.post(Claims, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: { ...common, volumeName: name, resources: { requests: { storage: capacity } } },
    });
    await this.cluster.until(`claim ${name} to be bound`, async () => (await this.claim(name)).status?.phase === 'Bound');
  }

  /** The path of the VolumeAttachment that the attach-detach controller has made for the volume. */
  attachment(volume: string): Promise<string> {
    return this.cluster.until(`an attachment of ${volume}`, async () => {
      const found = (await this.api.list(`${Storage}/volumeattachments`)).find((a) => a.spec.source.persistentVolumeName === volume);
      return found && `${Storage}/volumeattachments/${found.metadata.name}`;
    });
  }

  claim(name: string): Promise<ApiObject> {
    return this.api.get(`${Claims}/${name}`);
  }

  /** A pod of one container that has the volume `v` at /v, or as the device /dev/v. */
  pod(name: string, script: string, volume: object, more: { spec?: object; block?: boolean } = {}): Promise<ApiObject> {
    const use =
      more.block === true ? { volumeDevices: [{ name: 'v', devicePath: '/dev/v' }] } : { volumeMounts: [{ name: 'v', mountPath: '/v' }] };
    return this.api.post(Pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [shellContainer('c', script, use)],
        volumes: [{ name: 'v', ...volume }],
        ...more.spec,
      },
    });
  }

  get(pod: string): Promise<ApiObject> {
    return this.api.get(`${Pods}/${pod}`);
  }

  running(pod: string, timeoutMs = 40_000): Promise<ApiObject> {
    return this.cluster.until(
      `${pod} to run`,
      async () => {
        const object = await this.get(pod);
        return object.status?.containerStatuses?.[0]?.state?.running !== undefined && object;
      },
      timeoutMs,
    );
  }

  /** Waits until the container's output matches. */
  output(pod: string, pattern: RegExp): Promise<string> {
    return podOutput(this.cluster, pod, pattern);
  }

  /** Waits for an event of an object; gives its message. */
  event(object: string, reason: string, pattern: RegExp, timeoutMs?: number): Promise<string> {
    return this.cluster.until(
      `an event ${reason} of ${object} that matches ${pattern}`,
      async () => {
        const { items } = await this.api.get('/api/v1/namespaces/default/events');
        const found = (items as ApiObject[]).find(
          (e) => e['involvedObject'].name === object && e['reason'] === reason && pattern.test(e['message']),
        );
        return found?.['message'] as string | undefined;
      },
      timeoutMs,
    );
  }

  async remove(pod: string): Promise<void> {
    await this.api.delete(`${Pods}/${pod}`);
  }

  gone(pod: string, timeoutMs = 40_000): Promise<void> {
    return podGone(this.cluster, pod, timeoutMs);
  }

  async removed(pod: string): Promise<void> {
    await this.remove(pod);
    await this.gone(pod);
  }

  volumeDir(pod: ApiObject, name: string): string {
    return join(this.node.agent.rootDir, 'pods', pod.metadata.uid ?? '', 'volumes/kubernetes.io~csi', name);
  }

  async volData(dir: string): Promise<unknown> {
    return JSON.parse(await readFile(join(dir, 'vol_data.json'), 'utf8'));
  }

  /** Resolves when the node has nothing of CSI volumes: no mount, loop device, directory, nor a volume in its status. */
  async nothingLeft(): Promise<void> {
    const { rootDir } = this.node.agent;
    await this.cluster.until('nothing to be left of CSI volumes', async () => {
      const mounts = (await readFile('/proc/self/mountinfo', 'utf8'))
        .split('\n')
        .filter((line) => line.includes(rootDir) && line.includes('csi'));
      const isFree = !loopFiles().some((file) => file.includes(rootDir) || file.includes(this.dataDir));
      const status = (await this.node.get())?.status;
      const used = (status?.volumesInUse as string[] | undefined) ?? [];
      return (
        mounts.length === 0 && isFree && used.length === 0 && (await filesBelow(join(rootDir, 'plugins/kubernetes.io/csi'))).length === 0
      );
    });
  }
}

async function filesBelow(dir: string): Promise<string[]> {
  try {
    const entries = await readdir(dir, { recursive: true, withFileTypes: true });
    return entries.filter((e) => !e.isDirectory()).map((e) => join(e.parentPath, e.name));
  } catch {
    return [];
  }
}
