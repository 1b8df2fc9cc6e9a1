import assert from 'node:assert/strict';
import { CriError } from '../../src/cri/errors.ts';
import type { RuntimeStatus } from '../../src/cri/types.ts';
import { KubeClient } from '../../src/kube/http-client.ts';
import { unlimited } from '../../src/kube/rate-limiter.ts';
import type { Lease, Node } from '../../src/kube/types.ts';
import { type ClusterNodeDeps, clusterNodeServices } from '../../src/node/cluster-node.ts';
import { NodeWatch } from '../../src/node/node-watch.ts';
import { RuntimeState } from '../../src/node/runtime-state.ts';
import { silentLogger } from '../../src/observe/log.ts';
import type { Service } from '../../src/observe/service.ts';
import { nodeAllocatableOf, nodeCapacityOf, nodeFacts, nodeIdentity, nodeInfo } from '../support/node-facts.ts';
import { SimApiServer } from './apiserver.ts';
import type { StoredObject } from './apiserver-store.ts';
import { SimClock } from './clock.ts';
import { SimRandom } from './random.ts';

export const NodesPath = '/api/v1/nodes';
export const LeasesPath = '/apis/coordination.k8s.io/v1/leases';

const allReady: RuntimeStatus = {
  conditions: [
    { type: 'RuntimeReady', status: true, reason: '', message: '' },
    { type: 'NetworkReady', status: true, reason: '', message: '' },
  ],
  runtimeHandlers: [],
};

/** The node's services on virtual time, a simulated API server and a runtime that only says how it is. */
export class NodeWorld {
  readonly clock = new SimClock();
  readonly server: SimApiServer;
  readonly watch: NodeWatch;
  readonly events: string[] = [];
  readonly cidrs: string[] = [];
  /** What the runtime answers to Status; undefined: it is away. */
  runtime: RuntimeStatus | undefined = allReady;
  images = [{ id: 'i', repoTags: ['i:1'], repoDigests: [], size: 7, username: '', pinned: false }];
  pressure = false;
  reconnects = 0;
  woken = 0;
  readonly services: Service[];
  readonly #stop = new AbortController();

  constructor(over: Partial<ClusterNodeDeps> = {}) {
    const { clock } = this;
    const random = new SimRandom(1);
    this.server = new SimApiServer({ clock, random: random.fork('server') });
    const client = (timeoutMs = 0) =>
      new KubeClient({
        transport: this.server,
        auth: { headers: () => Promise.resolve({}), rejected: () => false },
        limiter: unlimited,
        clock,
        log: silentLogger,
        userAgent: 'kubelet/test',
        timeoutMs,
      });
    const api = client();
    this.watch = new NodeWatch({ api, nodeName: 'n1', clock, random: random.fork('watch'), log: silentLogger });
    const status = async () => {
      if (this.runtime === undefined) throw new CriError('Unavailable', 'Status', 'no connection');
      return this.runtime;
    };
    const runtimeState = new RuntimeState({
      runtime: { status },
      clock,
      log: silentLogger,
      recovered: () => {},
      asked: () => node.check(),
    });
    const node = clusterNodeServices(
      {
        api,
        heartbeat: client(10_000),
        reconnect: () => void this.reconnects++,
        watch: this.watch,
        identity: nodeIdentity(),
        clock,
        random: random.fork('node'),
        log: silentLogger,
        events: { event: (object, _type, reason) => void this.events.push(`${reason} ${object.uid === '' ? 'unknown' : 'known'}`) },
        runtime: {
          version: async () => ({ version: '0.1.0', runtimeName: 'containerd', runtimeVersion: 'v2.0.0', runtimeApiVersion: 'v1' }),
          updateRuntimeConfig: async (cidr) => void this.cidrs.push(cidr),
        },
        images: { listImages: async () => this.images },
        observe: {
          runtimeName: 'containerd',
          nodeInfo,
          capacity: nodeCapacityOf,
          allocatable: nodeAllocatableOf,
          localStorageCapacityIsolation: true,
          kubeletPort: 10250,
          maxImages: 50,
          declaredFeatures: undefined,
          showGroupsPolicy: true,
          showHandlers: true,
          nodeIPs: [],
          addresses: async () => ['10.0.0.1'],
          pressures: () => ({ ...nodeFacts().pressures, MemoryPressure: this.pressure }),
        },
        registerNode: true,
        getOnExistsOnly: false,
        updateFrequencyMs: 10_000,
        reportFrequencyMs: 300_000,
        leaseDurationSeconds: 40,
        ...over,
      },
      { runtimeState, relist: { listedAt: () => clock.monotonic(), ready: () => Promise.resolve() }, wakePods: () => void this.woken++ },
    );
    this.services = [runtimeState, ...node.services];
  }

  async start(): Promise<void> {
    for (const service of this.services) await service.start(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the test ends'));
    await this.clock.settle();
    for (const service of this.services.toReversed()) await service.stop();
  }

  node(): Node | undefined {
    return this.server.store.get(NodesPath, 'n1') as Node | undefined;
  }

  ready(): { status: string | undefined; message: string | undefined } {
    const condition = this.node()?.status?.conditions?.find((c) => c.type === 'Ready');
    return { status: condition?.status, message: condition?.message };
  }

  lease(): Lease | undefined {
    return this.server.store.get(LeasesPath, 'kube-node-lease/n1') as Lease | undefined;
  }

  put(node: Node): void {
    this.server.store.put(NodesPath, 'n1', structuredClone(node) as unknown as StoredObject);
  }

  /** Lets time pass until `predicate` holds; resolves with the milliseconds that took. */
  async until(what: string, predicate: () => boolean, maxMs = 60_000): Promise<number> {
    const from = this.clock.monotonic();
    assert.ok(await this.clock.runUntil(predicate, maxMs), `not within ${maxMs} ms: ${what}`);
    return this.clock.monotonic() - from;
  }

  /** Requests since `from` whose path begins so. */
  requests(method: string, path: string, from = 0): number {
    return this.server.requests.filter((r) => r.method === method && r.path.startsWith(path) && r.at >= from).length;
  }
}
