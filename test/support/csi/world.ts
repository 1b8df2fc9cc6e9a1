import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '../../../src/api/types.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { FileThreads } from '../../../src/host/file-threads/file-threads.ts';
import { nodeFiles } from '../../../src/host/files-node.ts';
import { nodeLoops } from '../../../src/host/loop-devices.ts';
import { nodeMounts, readMounts } from '../../../src/host/mounts.ts';
import type { PersistentVolumeClaim } from '../../../src/kube/types.ts';
import { silentLogger } from '../../../src/observe/log.ts';
import type { DriverSpec } from '../../../src/volumes/csi/csi-objects.ts';
import { CsiVolumePlugin } from '../../../src/volumes/csi/csi-volumes.ts';
import { CsiDrivers } from '../../../src/volumes/csi/drivers.ts';
import { VolumeExpander } from '../../../src/volumes/csi/expander.ts';
import { CsiOnDisk } from '../../../src/volumes/csi/on-disk.ts';
import { StagedVolumes } from '../../../src/volumes/csi/staged-volumes.ts';
import { CsiVolumesService } from '../../../src/volumes/csi/volumes-service.ts';
import type { VolumeManager } from '../../../src/volumes/manager.ts';
import { giveToGroup } from '../../../src/volumes/ownership.ts';
import { bedPrefix } from '../leftovers.ts';
import { turn } from '../setReader.ts';
import { podWith, type VolumesBed, volumesBed } from '../volumes.ts';
import { loopFiles } from './backing.ts';
import { CsiDriver, type CsiDriverOptions } from './driver.ts';

/** One run of the agent's CSI part. */
export interface CsiRun {
  manager: VolumeManager;
  staged: StagedVolumes;
}

/** Volume manager and CSI plug-in on the real kernel, with drivers of the test on real sockets; no runtime and no API server. */
export class CsiWorld implements AsyncDisposable {
  readonly bed: VolumesBed;
  readonly dataDir: string;
  /** CSIDriver objects. */
  readonly specs = new Map<string, DriverSpec>();
  readonly claimPatches: object[] = [];
  readonly #drivers: CsiDrivers;
  readonly #made: CsiDriver[] = [];
  readonly #stop = new AbortController();
  readonly #running: CsiVolumesService[] = [];

  private constructor(bed: VolumesBed, dataDir: string, timeoutMs: number) {
    this.bed = bed;
    this.dataDir = dataDir;
    this.#drivers = new CsiDrivers(systemClock, { called: () => {} }, timeoutMs);
  }

  /** `timeoutMs`: how long a call to a driver may take. */
  static async start(timeoutMs = 5_000): Promise<CsiWorld> {
    return new CsiWorld(await volumesBed(), await mkdtemp(join(tmpdir(), bedPrefix('csi'))), timeoutMs);
  }

  /** The agent begins, and knows nothing but what is on disk. */
  async run(): Promise<CsiRun> {
    const { root } = this.bed;
    const disk = new CsiOnDisk(nodeFiles, root);
    const clock = systemClock;
    const longFiles = new FileThreads(clock);
    const staged = new StagedVolumes({
      clock,
      log: silentLogger,
      isUsedOnDisk: (volume) => disk.isUsed(volume),
      unstage: (volume) => plugin.unstage(volume),
      changed: () => {},
    });
    const objects = {
      driver: async (name: string) => this.specs.get(name),
      knownDriver: (name: string) => this.specs.get(name),
      attachment: async () => undefined,
      secret: async () => ({}),
      stop: async () => {},
    };
    const events = {
      event: (_object: unknown, _type: string, reason: string, message: string) => void this.bed.events.push(`${reason}: ${message}`),
    };
    const plugin: CsiVolumePlugin = new CsiVolumePlugin({
      rootDir: root,
      nodeName: 'node',
      files: nodeFiles,
      mounts: nodeMounts,
      mounter: nodeMounts,
      loops: nodeLoops,
      log: silentLogger,
      events,
      clients: this.#drivers,
      objects,
      tokens: { driverToken: async () => ({ token: 't', expirationTimestamp: '2030-01-01T00:00:00Z' }) },
      attachments: { publishContext: async () => undefined },
      staged,
      wake: () => {},
      giveToGroup: (context, path) => giveToGroup({ clock, longFiles, events }, context, path, false),
      expander: new VolumeExpander({
        clients: this.#drivers,
        objects,
        claims: {
          claim: (namespace, name) => this.bed.objects.claim(namespace, name),
          persistentVolume: (name) => this.bed.objects.persistentVolume(name),
          patchClaimStatus: async (namespace, name, patch) => {
            this.claimPatches.push(patch);
            return this.bed.objects.claims.get(`${namespace}/${name}`) as PersistentVolumeClaim;
          },
        },
        events,
        clock,
        log: silentLogger,
      }),
    });
    const service = new CsiVolumesService({ disk, staged, objects, clock, log: silentLogger, changed: () => {} });
    service.start(this.#stop.signal);
    this.#running.push(service);
    await service.ready();
    return { manager: this.bed.restarted({ plugins: [plugin] }), staged };
  }

  /** A driver that is registered; without registrar. */
  async driver(name: string, spec: DriverSpec | undefined, options: Partial<CsiDriverOptions> = {}): Promise<CsiDriver> {
    if (spec !== undefined)
      this.specs.set(name, { attachRequired: false, fsGroupPolicy: 'File', volumeLifecycleModes: ['Persistent', 'Ephemeral'], ...spec });
    const driver = new CsiDriver({ name, rootDir: this.bed.root, dataDir: join(this.dataDir, name), ...options });
    this.#made.push(driver);
    await driver.revive();
    this.register(driver);
    return driver;
  }

  register({ name, endpoint }: CsiDriver): void {
    this.#drivers.add(name, { endpoint, version: '1.0.0' });
  }

  unregister({ name, endpoint }: CsiDriver): void {
    this.#drivers.remove(name, endpoint);
  }

  /** A claim that is bound to a volume of the driver; both have that name. */
  persistent(name: string, driver: string, spec: object = {}): void {
    const { claims, persistentVolumes } = this.bed.objects;
    claims.set(`default/${name}`, {
      metadata: { name, namespace: 'default', uid: name },
      spec: { volumeName: name },
      status: { phase: 'Bound', capacity: { storage: '8Mi' } },
    });
    persistentVolumes.set(name, {
      metadata: { name },
      spec: {
        claimRef: { namespace: 'default', name, uid: name },
        capacity: { storage: '8Mi' },
        accessModes: ['ReadWriteMany'],
        csi: { driver, volumeHandle: `handle-${name}` },
        ...spec,
      },
    });
  }

  /** A pod that has the claim as volume `v`. */
  podOf(uid: string, claim: string, more: { block?: boolean; spec?: Partial<Pod['spec']> } = {}): Pod {
    const pod = podWith(uid, [{ name: 'v', persistentVolumeClaim: { claimName: claim } }], undefined, more.spec);
    if (more.block !== true) return pod;
    const containers = pod.spec.containers.map(({ volumeMounts: _, ...c }) => ({
      ...c,
      volumeDevices: [{ name: 'v', devicePath: '/dev/v' }],
    }));
    return { ...pod, spec: { ...pod.spec, containers } };
  }

  /** Where the pod finds the volume of the claim. */
  target(uid: string, claim: string): string {
    return join(this.bed.podsDir, uid, 'volumes/kubernetes.io~csi', claim, 'mount');
  }

  /** Waits until an event says `text`. */
  async told(text: string): Promise<void> {
    while (!this.bed.events.some((event) => event.includes(text))) await turn();
  }

  /** What is staged, mounted, attached or on record of the agent's volumes, once the run has had time to give them up. */
  async leftovers({ staged }: CsiRun): Promise<string[]> {
    const { root } = this.bed;
    for (const end = performance.now() + 10_000; staged.inUse().length > 0 && performance.now() < end; ) await turn();
    const mounts = (await readMounts()).map((mount) => mount.mountPoint);
    const files = execFileSync('find', [root, '-path', '*csi*', '-type', 'f'], { encoding: 'utf8' }).split('\n');
    return [
      ...staged.inUse().map(({ name }) => `${name} is staged`),
      ...mounts.filter((path) => path.startsWith(root)),
      ...loopFiles().filter((path) => path.includes(root)),
      ...files.filter((path) => path !== ''),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    for (const service of this.#running) await service.stop();
    for (const driver of this.#made) driver.stop();
    await this.bed.remove();
    await rm(this.dataDir, { recursive: true });
  }
}
