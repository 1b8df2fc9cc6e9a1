import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container, Pod, Volume, VolumeMount } from '../../src/api/types.ts';
import { systemClock } from '../../src/host/clock.ts';
import { FileThreads } from '../../src/host/file-threads/file-threads.ts';
import { nodeFiles } from '../../src/host/files-node.ts';
import { nodeMounts } from '../../src/host/mounts.ts';
import { nodeOwnedFiles } from '../../src/host/owned-files.ts';
import { systemRandom } from '../../src/host/random.ts';
import { nodeTools } from '../../src/host/tools.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../src/kube/types.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { containerOf, metadataField, resourceField } from '../../src/sync/downward.ts';
import { expandSubPath } from '../../src/sync/env-expansion.ts';
import { VolumeManager, type VolumeManagerDeps } from '../../src/volumes/manager.ts';
import type { ConfigMapObject, SecretObject, VolumeObjects } from '../../src/volumes/ports.ts';
import { bedPrefix } from './leftovers.ts';

const allocatable = { cpu: '2', memory: '64Mi' };

/** Objects that a test sets as it likes, by `namespace/name`. */
export class FakeObjects implements VolumeObjects {
  readonly configMaps = new Map<string, Partial<ConfigMapObject>>();
  readonly secrets = new Map<string, Partial<SecretObject>>();
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly persistentVolumes = new Map<string, PersistentVolume>();
  /** By name. */
  readonly trustBundles = new Map<string, string>();
  tokenText = 'token-1';

  async configMap(namespace: string, name: string) {
    const found = this.configMaps.get(`${namespace}/${name}`);
    return found && { data: new Map(), binaryData: new Map(), immutable: false, resourceVersion: '1', ...found };
  }

  async secret(namespace: string, name: string) {
    const found = this.secrets.get(`${namespace}/${name}`);
    return found && { data: new Map(), immutable: false, resourceVersion: '1', ...found };
  }

  async claim(namespace: string, name: string) {
    return this.claims.get(`${namespace}/${name}`);
  }

  async persistentVolume(name: string) {
    return this.persistentVolumes.get(name);
  }

  async trustAnchors(query: { name: string } | { signerName: string }) {
    return 'name' in query ? this.trustBundles.get(query.name) : undefined;
  }

  async token() {
    return this.tokenText;
  }
}

/** A manager on the real kernel over a root directory of its own. */
export interface VolumesBed {
  root: string;
  podsDir: string;
  objects: FakeObjects;
  manager: VolumeManager;
  /** Messages of events so far. */
  events: string[];
  /** A manager that knows nothing of the first one, as after a restart. */
  restarted(more?: Partial<VolumeManagerDeps>): VolumeManager;
  /** Mounts as a new manager; its first failure ends the wait, and its text is the rejection. */
  mountOnce(pod: Pod): Promise<void>;
  /** Unmounts and removes everything. */
  remove(): Promise<void>;
}

export async function volumesBed(more: Partial<VolumeManagerDeps> = {}): Promise<VolumesBed> {
  const root = await mkdtemp(join(tmpdir(), bedPrefix('volumes')));
  const podsDir = join(root, 'pods');
  const objects = new FakeObjects();
  const events: string[] = [];
  const deps: VolumeManagerDeps = {
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    events: { event: (_object, _type, reason, message) => void events.push(`${reason}: ${message}`) },
    files: nodeFiles,
    owned: nodeOwnedFiles,
    mounts: nodeMounts,
    slowFiles: new FileThreads(systemClock),
    longFiles: new FileThreads(systemClock),
    tools: nodeTools,
    podsDir,
    allocatable: () => allocatable,
    fields: {
      metadata: metadataField,
      resource: (pod, ref) => resourceField(ref, containerOf(pod, ref.containerName), allocatable),
    },
    objects,
    expandSubPath,
    recursiveReadOnly: () => false,
    selinux: false,
    noSwap: true,
    ...more,
  };
  const restarted = (again: Partial<VolumeManagerDeps> = {}) => new VolumeManager({ ...deps, ...again });
  return {
    root,
    podsDir,
    objects,
    events,
    manager: new VolumeManager(deps),
    restarted,
    async mountOnce(pod) {
      const stop = new AbortController();
      const manager = restarted({ events: { event: (_object, _type, _reason, message) => stop.abort(new Error(message)) } });
      await manager.mount(pod, stop.signal);
    },
    async remove() {
      await nodeMounts.unmountAll((await nodeMounts.below(root)).map((mount) => mount.mountPoint));
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** A pod with one container, `c`, that mounts each volume at `/{name}` unless `mounts` says otherwise. */
export function podWith(uid: string, volumes: Volume[], mounts?: VolumeMount[], more: Partial<Pod['spec']> = {}): Pod {
  const volumeMounts = mounts ?? volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  const container: Container = { name: 'c', image: 'i', volumeMounts };
  return {
    metadata: { name: uid, namespace: 'default', uid, labels: { app: 'web' } },
    spec: { containers: [container], volumes, ...more },
  };
}
