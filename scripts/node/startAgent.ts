import { spawn } from 'node:child_process';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { freePorts } from './freePort.ts';
import { endProcesses, type ProcessRef, processRef } from './processes.ts';
import type { PrivateContainerd } from './startContainerd.ts';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

export interface AgentOptions {
  containerd: PrivateContainerd;
  /** Folder or file of manifests; default a new empty folder of the agent. */
  manifests?: string;
  /** The executable; default `bin/kubelet-ts`. Any kubelet will do. */
  kubelet?: string;
  /** Folder of the agent; default `agent` beside containerd's. Removed with the containerd. */
  dir?: string;
  /** Settings laid over `agentConfig`. */
  config?: Readonly<Record<string, unknown>>;
  flags?: readonly string[];
  /** The docker configuration of the node: config.json in the root directory. */
  dockerConfig?: object;
  env?: Readonly<Record<string, string>>;
}

/** A standalone agent on a private containerd. */
export interface Agent {
  readonly dir: string;
  readonly rootDir: string;
  readonly manifests: string;
  readonly podLogsDir: string;
  readonly configFile: string;
  readonly logFile: string;
  readonly healthzUrl: string;
  /** Base of the read-only port: `/pods`, `/metrics`, `/stats/summary`. */
  readonly url: string;
  /** `performance.now()` of the last start. */
  readonly startedAt: number;
  pid(): number | undefined;
  /** How the process ended: `exit 1`, `SIGKILL`; undefined while it runs. */
  ended(): string | undefined;
  /** The body of /pods; undefined while the port does not answer. */
  pods(): Promise<unknown>;
  healthy(): Promise<boolean>;
  /** Waits until /healthz says ok; rejects when the process ends or `timeoutMs` pass. */
  waitHealthy(timeoutMs?: number): Promise<void>;
  log(): Promise<string>;
  /** Starts the process (again). */
  start(): Promise<void>;
  /** SIGKILL, or the given signal, and waits for the end. Containers run on. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

/** The settings of a standalone agent that touches nothing but its own folders. `ports` are healthz, read-only and server. */
export function agentConfig(
  containerd: PrivateContainerd,
  paths: { manifests: string; dir: string },
  ports: readonly number[],
): Record<string, unknown> {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: paths.manifests,
    podLogsDir: join(paths.dir, 'pod-logs'),
    volumePluginDir: join(paths.dir, 'volume-plugins'),
    containerRuntimeEndpoint: containerd.endpoint,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: containerd.cgroupRoot,
    failCgroupV1: false,
    failSwapOn: false,
    address: '127.0.0.1',
    healthzBindAddress: '127.0.0.1',
    healthzPort: ports[0],
    readOnlyPort: ports[1],
    port: ports[2],
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    tlsMinVersion: 'VersionTLS12',
    seccompDefault: true,
    podPidsLimit: 4096,
    makeIPTablesUtilChains: false,
    imageGCHighThresholdPercent: 100,
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
  };
}

/** Starts an agent; resolves when the process runs, which is before it is healthy. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const dir = options.dir ?? join(dirname(options.containerd.dir), 'agent');
  await options.containerd.ownFolder(dir);
  const manifests = options.manifests ?? join(dir, 'manifests');
  for (const folder of [dir, join(dir, 'root'), join(dir, 'pod-logs')]) await mkdir(folder, { recursive: true });
  if (options.manifests === undefined) await mkdir(manifests, { recursive: true });
  if (options.dockerConfig !== undefined) {
    await writeFile(join(dir, 'root/config.json'), JSON.stringify(options.dockerConfig), { mode: 0o600 });
  }
  const ports = await freePorts(3);
  const config = { ...agentConfig(options.containerd, { manifests, dir }, ports), ...options.config };
  const configFile = join(dir, 'config.yaml');
  await writeFile(configFile, stringify(config));
  const agent = new AgentProcess(options, { dir, manifests, configFile }, config);
  await agent.start();
  return agent;
}

class AgentProcess implements Agent {
  readonly dir: string;
  readonly rootDir: string;
  readonly manifests: string;
  readonly podLogsDir: string;
  readonly configFile: string;
  readonly logFile: string;
  readonly healthzUrl: string;
  readonly url: string;
  startedAt = 0;
  readonly #options: AgentOptions;
  #process: ProcessRef | undefined;
  #ended: string | undefined;

  constructor(options: AgentOptions, paths: { dir: string; manifests: string; configFile: string }, config: Record<string, unknown>) {
    this.#options = options;
    this.dir = paths.dir;
    this.rootDir = join(paths.dir, 'root');
    this.manifests = paths.manifests;
    this.podLogsDir = String(config['podLogsDir']);
    this.configFile = paths.configFile;
    this.logFile = join(paths.dir, 'kubelet.log');
    this.healthzUrl = `http://127.0.0.1:${config['healthzPort']}/healthz`;
    this.url = `http://${config['address']}:${config['readOnlyPort']}`;
  }

  async start(): Promise<void> {
    const output = await open(this.logFile, 'a');
    const program = this.#options.kubelet ?? join(project, 'bin/kubelet-ts');
    const flags = [
      '--config',
      this.configFile,
      '--root-dir',
      this.rootDir,
      '--cert-dir',
      join(this.rootDir, 'pki'),
      ...(this.#options.flags ?? ['--v=2']),
    ];
    this.#ended = undefined;
    this.startedAt = performance.now();
    // A process group of its own: Ctrl-C in the terminal is for the caller, who stops the agent in order.
    const child = spawn(program, flags, {
      stdio: ['ignore', output.fd, output.fd],
      detached: true,
      env: { ...process.env, ...this.#options.env },
    });
    const failed = new Promise<Error>((done) => child.once('error', done));
    child.once('exit', (code, signal) => {
      this.#ended = signal ?? `exit ${code}`;
    });
    child.unref();
    await output.close();
    if (child.pid === undefined) throw await failed;
    await this.#options.containerd.own(child.pid);
    this.#process = await processRef(child.pid);
  }

  pid(): number | undefined {
    return this.#ended === undefined ? this.#process?.pid : undefined;
  }

  ended(): string | undefined {
    return this.#ended;
  }

  async pods(): Promise<unknown> {
    try {
      const response = await fetch(`${this.url}/pods`, { signal: AbortSignal.timeout(5_000) });
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  }

  async healthy(): Promise<boolean> {
    try {
      return (await fetch(this.healthzUrl, { signal: AbortSignal.timeout(2_000) })).ok;
    } catch {
      return false;
    }
  }

  async waitHealthy(timeoutMs = 30_000): Promise<void> {
    const end = performance.now() + timeoutMs;
    while (!(await this.healthy())) {
      if (this.#ended !== undefined) throw new Error(`the agent ended (${this.#ended}):\n${await this.#tail()}`);
      if (performance.now() > end) throw new Error(`the agent is not healthy after ${timeoutMs / 1000} s:\n${await this.#tail()}`);
      await sleep(20);
    }
  }

  log(): Promise<string> {
    return readFile(this.logFile, 'utf8');
  }

  async #tail(): Promise<string> {
    return (await this.log()).trimEnd().split('\n').slice(-15).join('\n');
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    if (this.#process === undefined) return;
    await endProcesses([this.#process], signal === 'SIGTERM' ? 20_000 : 0);
    // The exit event comes a moment after the process is gone.
    for (let i = 0; i < 200 && this.#ended === undefined; i++) await sleep(5);
  }
}
