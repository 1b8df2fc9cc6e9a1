import { copyFile, mkdir, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanUpRun, cleanUpStaleRuns, leftovers } from '../../../scripts/node/cleanUpRun.ts';
import { freePorts } from '../../../scripts/node/freePort.ts';
import { registerRun } from '../../../scripts/node/registerRun.ts';
import { mustRun } from '../../../scripts/node/run.ts';
import { type RunRecord, writeRecord } from '../../../scripts/node/runRecord.ts';
import { ApiClient } from './apiClient.ts';
import { type ClusterBinaries, clusterBinaries } from './binaries.ts';
import {
  apiserverArgs,
  type ControlPlaneSettings,
  controllerManagerArgs,
  etcdArgs,
  PKI_FILES,
  SERVICE_ADDRESS,
  schedulerArgs,
} from './components.ts';
import { Daemon } from './daemon.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { type ClusterNode, type NodeOptions, startNode } from './node.ts';
import { makeNodeNetwork, type NodeNetwork } from './nodeNetwork.ts';
import { type Authority, newAuthority, newKeyPair, type Subject } from './pki.ts';

const project = resolve(import.meta.dirname, '../../..');
const PATIENCE_MS = 120_000;

export interface ClusterOptions {
  /** Folder for the cluster's folder `cluster`; default one below `.run/` of the project. Removed by `stop`. */
  dir?: string;
  log?: (line: string) => void;
  /**
   * Where the API server listens: `loopback` (the default), or `bridge`, the cluster's own bridge, which nodes in network
   * namespaces reach too.
   */
  listen?: 'loopback' | 'bridge';
  /** Laid over the flags of kube-apiserver. */
  apiserverFlags?: readonly string[];
  /** Folder that the logs of all components are copied to before they are removed. */
  keepLogs?: string;
}

/** A control plane with nodes. `stop` (or `await using`) leaves nothing behind. */
export interface Cluster extends AsyncDisposable {
  readonly dir: string;
  /** `https://ADDRESS:PORT`. */
  readonly server: string;
  readonly ca: Authority;
  /** The kubeconfig of cluster-admin. */
  readonly kubeconfig: string;
  /** An API client of cluster-admin. */
  readonly api: ApiClient;
  readonly binaries: ClusterBinaries;
  readonly nodes: readonly ClusterNode[];
  readonly apiserver: Daemon;
  readonly scheduler: Daemon;
  readonly controllerManager: Daemon;
  readonly etcd: Daemon;
  /** Writes a kubeconfig with a client certificate of this user; organizations are its groups. Returns the path. */
  kubeconfigOf(subject: Subject): Promise<string>;
  /** The kubeconfig of a node's kubelet: user `system:node:NAME` of group `system:nodes`. */
  nodeKubeconfig(name: string): Promise<string>;
  /** Runs kubectl as cluster-admin; rejects unless it ends with 0. Resolves with its output. */
  kubectl(args: readonly string[], options?: { input?: string; timeoutMs?: number }): Promise<string>;
  /** The environment for a kubectl of one's own, as cluster-admin or with another kubeconfig. */
  kubectlEnv(kubeconfig?: string): { KUBECONFIG: string; KUBECACHEDIR: string };
  /** Starts a containerd (unless one is given) and a kubelet on it, which registers itself. Does not wait for Ready. */
  addNode(options?: NodeOptions): Promise<ClusterNode>;
  /** Ends the API server, in order or (SIGKILL) as by a crash; etcd and the others run on. */
  stopApiserver(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Starts it again on the same port and waits until it is ready. */
  startApiserver(): Promise<void>;
  /** Waits until `check` gives something other than undefined or false, tried every 50 ms. Rejects naming `what`. */
  until<T>(what: string, check: () => Promise<T | undefined | false>, timeoutMs?: number): Promise<T>;
  /** A new address on the cluster's bridge, for a node in the host's network. */
  newNodeAddress(): Promise<string>;
  /** A network namespace on the cluster's bridge. */
  newNodeNetwork(name: string): Promise<NodeNetwork>;
  /** Has the host and all node networks reach the pods of `subnet` through the node's address. */
  routePods(network: NodeNetwork, subnet: string): Promise<void>;
  /** Has a process, or a folder, removed with the cluster, also when this process is killed. */
  own(what: { folder: string }): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts etcd, kube-apiserver (Node and RBAC authorization, NodeRestriction, ServiceAccount), scheduler and
 * controller-manager, with certificates of their own; resolves once the API server is ready and pods can be created.
 * Needs root (for the bridge that node addresses lie on).
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const log = options.log ?? (() => {});
  if (process.getuid?.() !== 0) throw new Error('a cluster needs root');
  const binaries = await clusterBinaries(log);
  for (const line of await cleanUpStaleRuns()) log(line);
  const record = await registerRun('cluster', options.dir);
  const ports = await freePorts(3);
  const bridgeAddress = `${record.subnet.replace(/\.0\/[0-9]+$/, '')}.1`;
  const address = options.listen === 'bridge' ? bridgeAddress : '127.0.0.1';
  const settings: ControlPlaneSettings = {
    address,
    port: ports[0] ?? 0,
    etcdPort: ports[1] ?? 0,
    etcdPeerPort: ports[2] ?? 0,
    etcdDir: join(record.dir, 'etcd'),
    pkiDir: join(record.dir, 'pki'),
    schedulerKubeconfig: join(record.dir, 'scheduler.kubeconfig'),
    controllerManagerKubeconfig: join(record.dir, 'controller-manager.kubeconfig'),
    apiserverFlags: options.apiserverFlags ?? [],
  };
  let cluster: ClusterRun | undefined;
  try {
    await mkdir(settings.pkiDir, { recursive: true, mode: 0o700 });
    const ca = await newAuthority('kubelet-ts test cluster');
    await writePki(settings, ca);
    await mustRun('ip', ['link', 'add', record.bridge, 'type', 'bridge']);
    await mustRun('ip', ['address', 'add', `${bridgeAddress}/22`, 'dev', record.bridge]);
    await mustRun('ip', ['link', 'set', record.bridge, 'up']);
    const server = `https://${address}:${settings.port}`;
    const admin = await ca.client({ commonName: 'kubernetes-admin', organizations: ['system:masters'] });
    const kubeconfig = await writeKubeconfig(join(record.dir, 'admin.kubeconfig'), {
      server,
      caPem: ca.certPem,
      user: 'kubernetes-admin',
      credentials: admin,
    });
    const api = new ApiClient(server, ca.certPem, admin);
    cluster = new ClusterRun({ record, settings, binaries, ca, server, kubeconfig, api, log, keepLogs: options.keepLogs });
    await cluster.start();
    log(`Kubernetes API on ${server} (KUBECONFIG=${kubeconfig})`);
    return cluster;
  } catch (error) {
    await (cluster === undefined ? cleanUpRun(record) : cluster.stop()).catch((e: unknown) => log(String(e)));
    throw new Error(`the cluster did not start: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

async function writePki(s: ControlPlaneSettings, ca: Authority): Promise<void> {
  const file = (name: keyof typeof PKI_FILES, text: string) => writeFile(join(s.pkiDir, PKI_FILES[name]), text, { mode: 0o600 });
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local', 'localhost'];
  const [apiserver, kubeletClient, serviceAccount] = await Promise.all([
    ca.server('kube-apiserver', [...new Set([...names, '127.0.0.1', s.address, SERVICE_ADDRESS])]),
    ca.client({ commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] }),
    newKeyPair(),
  ]);
  await file('ca', ca.certPem);
  await file('caKey', ca.keyPem);
  await file('apiserver', apiserver.certPem);
  await file('apiserverKey', apiserver.keyPem);
  await file('kubeletClient', kubeletClient.certPem);
  await file('kubeletClientKey', kubeletClient.keyPem);
  await file('serviceAccountKey', serviceAccount.privatePem);
  await file('serviceAccountPublic', serviceAccount.publicPem);
}

interface ClusterParts {
  record: RunRecord;
  settings: ControlPlaneSettings;
  binaries: ClusterBinaries;
  ca: Authority;
  server: string;
  kubeconfig: string;
  api: ApiClient;
  log: (line: string) => void;
  keepLogs: string | undefined;
}

class ClusterRun implements Cluster {
  readonly dir: string;
  readonly server: string;
  readonly ca: Authority;
  readonly kubeconfig: string;
  readonly api: ApiClient;
  readonly binaries: ClusterBinaries;
  readonly nodes: ClusterNode[] = [];
  readonly etcd: Daemon;
  readonly apiserver: Daemon;
  readonly scheduler: Daemon;
  readonly controllerManager: Daemon;
  readonly #record: RunRecord;
  readonly #parts: ClusterParts;
  #kubeconfigs = 0;
  #nodeAddresses = 0;
  readonly #podRoutes = new Map<NodeNetwork, string>();
  #stopped: Promise<void> | undefined;

  constructor(parts: ClusterParts) {
    const { record, settings, binaries } = parts;
    this.#parts = parts;
    this.#record = record;
    this.dir = record.dir;
    this.server = parts.server;
    this.ca = parts.ca;
    this.kubeconfig = parts.kubeconfig;
    this.api = parts.api;
    this.binaries = binaries;
    const daemon = (name: string, program: string, args: readonly string[]) =>
      new Daemon({
        name,
        program,
        args,
        logFile: join(record.dir, `${name}.log`),
        own: async (ref) => {
          record.processes.push(ref);
          await writeRecord(record);
        },
      });
    this.etcd = daemon('etcd', binaries.etcd, etcdArgs(settings));
    this.apiserver = daemon('kube-apiserver', binaries.apiserver, apiserverArgs(settings));
    this.scheduler = daemon('kube-scheduler', binaries.scheduler, schedulerArgs(settings));
    this.controllerManager = daemon('kube-controller-manager', binaries.controllerManager, controllerManagerArgs(settings));
  }

  async start(): Promise<void> {
    const { settings } = this.#parts;
    const component = async (path: string, commonName: string) => {
      const credentials = await this.ca.client({ commonName });
      await writeKubeconfig(path, { server: this.server, caPem: this.ca.certPem, user: commonName, credentials });
    };
    await component(settings.schedulerKubeconfig, 'system:kube-scheduler');
    await component(settings.controllerManagerKubeconfig, 'system:kube-controller-manager');
    await this.etcd.start();
    // It waits for etcd itself.
    await this.startApiserver();
    await Promise.all([this.scheduler.start(), this.controllerManager.start()]);
    // ServiceAccount admission refuses pods before the controller-manager has made these.
    await this.until('the default service account', async () => {
      await this.controllerManager.mustRun();
      return (
        (await this.api.find('/api/v1/namespaces/default/serviceaccounts/default')) !== undefined &&
        (await this.api.find('/api/v1/namespaces/default/configmaps/kube-root-ca.crt')) !== undefined
      );
    });
    await this.scheduler.mustRun();
  }

  async kubeconfigOf(subject: Subject): Promise<string> {
    const path = join(this.dir, `${this.#kubeconfigs++}-${subject.commonName.replaceAll(/[^a-z0-9.-]+/gi, '-')}.kubeconfig`);
    const credentials = await this.ca.client(subject);
    return writeKubeconfig(path, { server: this.server, caPem: this.ca.certPem, user: subject.commonName, credentials });
  }

  nodeKubeconfig(name: string): Promise<string> {
    return this.kubeconfigOf({ commonName: `system:node:${name}`, organizations: ['system:nodes'] });
  }

  kubectl(args: readonly string[], options: { input?: string; timeoutMs?: number } = {}): Promise<string> {
    return mustRun(this.binaries.kubectl, args, { env: this.kubectlEnv(), ...options });
  }

  kubectlEnv(kubeconfig = this.kubeconfig): { KUBECONFIG: string; KUBECACHEDIR: string } {
    // kubectl's default cache lies in the user's home.
    return { KUBECONFIG: kubeconfig, KUBECACHEDIR: join(this.dir, 'kubectl-cache') };
  }

  async addNode(options: NodeOptions = {}): Promise<ClusterNode> {
    const node = await startNode(this, { ...options, name: options.name ?? `node-${this.nodes.length}` }, this.#parts.log);
    this.nodes.push(node);
    return node;
  }

  stopApiserver(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    return this.apiserver.stop(signal);
  }

  async startApiserver(): Promise<void> {
    await this.apiserver.start();
    await this.until('the API server to be ready', async () => {
      await this.etcd.mustRun();
      await this.apiserver.mustRun();
      return this.api.ready();
    });
  }

  async until<T>(what: string, check: () => Promise<T | undefined | false>, timeoutMs = PATIENCE_MS): Promise<T> {
    const end = performance.now() + timeoutMs;
    for (;;) {
      const value = await check();
      if (value !== undefined && value !== false) return value;
      if (performance.now() > end) throw new Error(`waited ${timeoutMs / 1000} s for ${what}`);
      await sleep(50);
    }
  }

  async newNodeAddress(): Promise<string> {
    const { address } = this.#nextAddress();
    await mustRun('ip', ['address', 'add', `${address}/32`, 'dev', this.#record.bridge]);
    return address;
  }

  async newNodeNetwork(name: string): Promise<NodeNetwork> {
    const { bridge } = this.#record;
    if (this.#parts.settings.address === '127.0.0.1')
      throw new Error('nodes in network namespaces need a cluster that listens on its bridge');
    const { address, number } = this.#nextAddress();
    const network = await makeNodeNetwork({
      dir: join(this.dir, `network-${name}`),
      bridge,
      gateway: this.#parts.settings.address,
      address,
      link: `${bridge}n${number}`,
    });
    for (const [other, subnet] of this.#podRoutes) await network.route(subnet, other.address);
    return network;
  }

  async routePods(network: NodeNetwork, subnet: string): Promise<void> {
    await mustRun('ip', ['route', 'add', subnet, 'via', network.address]);
    for (const other of this.#podRoutes.keys()) await other.route(subnet, network.address);
    this.#podRoutes.set(network, subnet);
  }

  #nextAddress(): { address: string; number: number } {
    const number = this.#nodeAddresses++;
    return { address: `${this.#record.subnet.replace(/\.0\/[0-9]+$/, '')}.${10 + number}`, number };
  }

  async own({ folder }: { folder: string }): Promise<void> {
    this.#record.folders.push(resolve(folder));
    await writeRecord(this.#record);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const faults: string[] = [];
    const attempt = (work: Promise<unknown>) => work.catch((e: unknown) => void faults.push(e instanceof Error ? e.message : String(e)));
    await Promise.all(this.nodes.map((n) => attempt(n.stop())));
    this.api.close();
    for (const daemon of [this.scheduler, this.controllerManager]) await daemon.stop('SIGKILL');
    await this.apiserver.stop('SIGKILL');
    await this.etcd.stop('SIGKILL');
    const { keepLogs } = this.#parts;
    if (keepLogs !== undefined) await attempt(this.#keepLogs(keepLogs));
    await cleanUpRun(this.#record);
    await rmdir(join(project, '.run')).catch(() => {});
    await rmdir(dirname(this.#record.dir)).catch(() => {});
    faults.push(...(await leftovers(this.#record)));
    if (faults.length > 0) throw new Error(`left behind by the cluster:\n  ${faults.join('\n  ')}`);
  }

  async #keepLogs(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    for (const d of [this.etcd, this.apiserver, this.scheduler, this.controllerManager])
      await copyFile(join(this.dir, `${d.name}.log`), join(folder, `${d.name}.log`)).catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
