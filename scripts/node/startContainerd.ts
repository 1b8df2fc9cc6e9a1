import { spawn } from 'node:child_process';
import { access, mkdir, open, readFile, rm, rmdir, statfs, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { exampleImages, PAUSE_IMAGE } from '../images/exampleImages.ts';
import { createCgroup } from './cgroups.ts';
import { cleanUpRun, cleanUpStaleRuns, leftovers } from './cleanUpRun.ts';
import { cniConfig, containerdConfig, parseContainerdVersion } from './containerdConfig.ts';
import { criReady } from './criReady.ts';
import { iptablesWork } from './iptables.ts';
import { unmountBelow } from './mounts.ts';
import { endProcesses, isAlive, type ProcessRef, processRef, signalProcess, waitGone } from './processes.ts';
import { registerRun } from './registerRun.ts';
import { mustRun, run, systemPath } from './run.ts';
import { type RunRecord, writeRecord } from './runRecord.ts';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const CNI_BIN_DIRS = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];
/** overlayfs cannot lie on itself. */
const OVERLAYFS_MAGIC = 0x794c7630;

export interface ContainerdOptions {
  /** Folder for containerd's root, configuration and log; default one below `.run/` of the project. Removed by `stop`. */
  dir?: string;
  log?: (line: string) => void;
  /** Image archives to import; default the example images (pause and busybox). */
  images?: readonly string[];
  /** Path of the containerd binary; default `KTS_CONTAINERD`, else the one on PATH. */
  binary?: string;
  /** `certs.d` folder for registries. */
  registryDir?: string;
  /** Where a registry really is, by its name in references: `http://127.0.0.1:PORT`. Not together with `registryDir`. */
  registries?: Readonly<Record<string, string>>;
}

/** A containerd of one's own, with a network and a cgroup of its own. `stop` (or `await using`) leaves nothing behind. */
export interface PrivateContainerd extends AsyncDisposable {
  /** Number of the run, unique on the machine while it lives. */
  readonly index: number;
  readonly socket: string;
  /** `unix://` and the socket. */
  readonly endpoint: string;
  readonly dir: string;
  readonly root: string;
  readonly state: string;
  readonly logFile: string;
  /** The folder of CNI configurations; its files are read again when they change. */
  readonly cniConfDir: string;
  /** For KubeletConfiguration.cgroupRoot: exists in every hierarchy. */
  readonly cgroupRoot: string;
  readonly subnet: string;
  readonly bridge: string;
  /** The daemon's version text, for example `1.6.20`. */
  readonly version: string;
  readonly restrictOomScoreAdj: boolean;
  /** The daemon's pid, undefined while it is down. */
  pid(): number | undefined;
  /** Runs `ctr` in the namespace that CRI uses. */
  ctr(args: readonly string[], timeoutMs?: number): Promise<string>;
  importImages(archive: string): Promise<void>;
  /** Ends the daemon (SIGKILL unless told otherwise); containers and shims live on. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Starts the daemon again after `kill` and waits until CRI answers. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /** SIGSTOP: calls hang until `thaw`. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Has a process ended with the run, also when this process is killed. */
  own(pid: number): Promise<void>;
  /** Has a folder unmounted and removed with the run, also when this process is killed. */
  ownFolder(path: string): Promise<void>;
  /** Ends and removes everything; rejects naming what could not be removed. */
  stop(): Promise<void>;
}

/** Whether oom_score_adj may be lowered here, found by trying it on a child. */
export async function mayLowerOomScore(): Promise<boolean> {
  return (await run('sh', ['-c', 'echo -999 > /proc/self/oom_score_adj'])).code === 0;
}

/** Starts a private containerd, imports the images and resolves once CRI answers with the network ready. Needs root. */
export async function startContainerd(options: ContainerdOptions = {}): Promise<PrivateContainerd> {
  const log = options.log ?? (() => {});
  if (process.getuid?.() !== 0) throw new Error('a private containerd needs root');
  for (const line of await cleanUpStaleRuns()) log(line);
  const images = options.images ?? [(await exampleImages(log)).archive];
  const binary = options.binary ?? process.env['KTS_CONTAINERD'] ?? 'containerd';
  const versionText = await mustRun(binary, ['--version']);
  const version = parseContainerdVersion(versionText);
  if (version === undefined) throw new Error(`cannot read the version of ${binary}: ${versionText.trim()}`);
  const cniBinDir = await firstWith(CNI_BIN_DIRS, ['bridge', 'host-local', 'loopback']);
  const restrictOomScoreAdj = !(await mayLowerOomScore());

  const record = await registerRun('containerd', options.dir);
  const { dir, state, socket } = record;
  const daemon = new ContainerdRun(record, binary, versionText.trim().split(/\s+/)[2] ?? '', restrictOomScoreAdj);
  try {
    for (const folder of record.folders) {
      await unmountBelow([folder]);
      await rm(folder, { recursive: true, force: true });
    }
    for (const folder of ['root', 'cni/conf', 'cni/data', 'tmp', 'certs.d']) await mkdir(join(dir, folder), { recursive: true });
    await writeFile('/proc/sys/net/ipv4/ip_forward', '1');
    await createCgroup(record.cgroupRoot);
    const network = { network: record.network, bridge: record.bridge, subnet: record.subnet, dataDir: join(dir, 'cni/data') };
    await writeFile(join(daemon.cniConfDir, '10-kts.conflist'), cniConfig({ ...network, portMappings: await iptablesWork() }));
    await writeFile(
      record.config,
      containerdConfig({
        version,
        root: daemon.root,
        state,
        socket,
        pauseImage: PAUSE_IMAGE,
        cniBinDir,
        cniConfDir: daemon.cniConfDir,
        registryDir: options.registryDir ?? (await registryHosts(join(dir, 'certs.d'), options.registries)),
        restrictOomScoreAdj,
        snapshotter: (await statfs(dir)).type === OVERLAYFS_MAGIC || !(await overlayWorks()) ? 'native' : 'overlayfs',
      }),
    );
    await daemon.start();
    for (const archive of images) await daemon.importImages(archive);
    log(`containerd ${daemon.version} on ${socket} (pid ${daemon.pid()}, pods ${record.subnet}, cgroup ${record.cgroupRoot})`);
    return daemon;
  } catch (error) {
    const tail = (await readFile(daemon.logFile, 'utf8').catch(() => '')).trim().split('\n').slice(-5).join('\n');
    await daemon.stop().catch((e: unknown) => log(String(e)));
    throw new Error(`the private containerd did not start: ${error instanceof Error ? error.message : String(error)}\n${tail}`, {
      cause: error,
    });
  }
}

/** Writes down where registries are; gives the folder, '' when there is nothing to say. */
async function registryHosts(folder: string, registries: Readonly<Record<string, string>> = {}): Promise<string> {
  for (const [name, url] of Object.entries(registries)) {
    await mkdir(join(folder, name), { recursive: true });
    await writeFile(join(folder, name, 'hosts.toml'), `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`);
  }
  return Object.keys(registries).length === 0 ? '' : folder;
}

class ContainerdRun implements PrivateContainerd {
  readonly index: number;
  readonly socket: string;
  readonly endpoint: string;
  readonly dir: string;
  readonly root: string;
  readonly state: string;
  readonly logFile: string;
  readonly cniConfDir: string;
  readonly cgroupRoot: string;
  readonly subnet: string;
  readonly bridge: string;
  readonly version: string;
  readonly restrictOomScoreAdj: boolean;
  readonly #record: RunRecord;
  readonly #binary: string;
  /** A binary of its own brings its shim and ctr with it. */
  readonly #path: string;
  #daemon: ProcessRef | undefined;
  #stopped: Promise<void> | undefined;

  constructor(record: RunRecord, binary: string, version: string, restrictOomScoreAdj: boolean) {
    this.#record = record;
    this.#binary = binary;
    this.#path = binary.includes('/') ? `${dirname(resolve(binary))}:${systemPath}` : systemPath;
    this.index = record.index;
    this.socket = record.socket;
    this.endpoint = `unix://${record.socket}`;
    this.dir = record.dir;
    this.root = join(record.dir, 'root');
    this.state = record.state;
    this.logFile = join(record.dir, 'containerd.log');
    this.cniConfDir = join(record.dir, 'cni/conf');
    this.cgroupRoot = record.cgroupRoot;
    this.subnet = record.subnet;
    this.bridge = record.bridge;
    this.version = version.replace(/^v/, '').replace(/[~+].*/, '');
    this.restrictOomScoreAdj = restrictOomScoreAdj;
  }

  pid(): number | undefined {
    return this.#daemon?.pid;
  }

  async start(): Promise<void> {
    if (this.#daemon !== undefined && (await isAlive(this.#daemon))) return;
    const output = await open(this.logFile, 'a');
    const child = spawn(this.#binary, ['--config', this.#record.config], {
      stdio: ['ignore', output.fd, output.fd],
      env: { ...process.env, PATH: this.#path, TMPDIR: join(this.dir, 'tmp') },
      // A group of its own: Ctrl-C in the terminal is for us, who stop it in order.
      detached: true,
    });
    const failed = new Promise<Error>((resolve) => child.once('error', resolve));
    child.unref();
    await output.close();
    if (child.pid === undefined) throw await failed;
    this.#daemon = await processRef(child.pid);
    const end = performance.now() + 60_000;
    while (!(await criReady(this.socket))) {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`containerd ended (${child.exitCode ?? child.signalCode})`);
      if (performance.now() > end) throw new Error('CRI did not answer within 60 s');
      await sleep(20);
    }
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    if (this.#daemon === undefined) return;
    if (signal === 'SIGTERM') await endProcesses([this.#daemon], 10_000);
    else await endProcesses([this.#daemon], 0);
    this.#daemon = undefined;
  }

  async restart(): Promise<void> {
    await this.kill('SIGTERM');
    await this.start();
  }

  async freeze(): Promise<void> {
    if (this.#daemon !== undefined) await signalProcess(this.#daemon, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    if (this.#daemon !== undefined) await signalProcess(this.#daemon, 'SIGCONT');
  }

  ctr(args: readonly string[], timeoutMs = 60_000): Promise<string> {
    return mustRun('ctr', ['--address', this.socket, '--namespace', 'k8s.io', ...args], {
      timeoutMs,
      env: { PATH: this.#path },
    });
  }

  async importImages(archive: string): Promise<void> {
    const before = new Set((await this.ctr(['images', 'ls', '-q'])).split('\n'));
    await this.ctr(['images', 'import', archive]);
    const added = (await this.ctr(['images', 'ls', '-q'])).split('\n').filter((name) => name !== '' && !before.has(name));
    // The CRI plugin learns of an import by an event and marks the image; before that its image service does not know it.
    const end = performance.now() + 30_000;
    while (added.length > 0) {
      const known = await this.ctr(['images', 'ls', '-q', 'labels."io.cri-containerd.image"==managed']);
      if (added.every((name) => known.split('\n').includes(name))) return;
      if (performance.now() > end) throw new Error(`the image service does not know the images of ${archive} after 30 s`);
      await sleep(20);
    }
  }

  async own(pid: number): Promise<void> {
    const ref = await processRef(pid);
    if (ref === undefined) return;
    this.#record.processes.push(ref);
    await writeRecord(this.#record);
  }

  async ownFolder(path: string): Promise<void> {
    this.#record.folders.push(resolve(path));
    await writeRecord(this.#record);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    await cleanUpRun(this.#record);
    if (this.#daemon !== undefined) await waitGone([this.#daemon], 5_000);
    this.#daemon = undefined;
    await rmdir(join(project, '.run')).catch(() => {});
    const left = await leftovers(this.#record);
    if (left.length > 0) throw new Error(`left behind by the private containerd:\n  ${left.join('\n  ')}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function firstWith(folders: readonly string[], programs: readonly string[]): Promise<string> {
  for (const folder of folders) {
    const found = await Promise.all(programs.map((p) => exists(join(folder, p))));
    if (found.every(Boolean)) return folder;
  }
  throw new Error(`no CNI plugins (${programs.join(', ')}) in any of ${folders.join(', ')}: install containernetworking-plugins`);
}

async function overlayWorks(): Promise<boolean> {
  const known = async () => /\toverlay$/m.test(await readFile('/proc/filesystems', 'utf8'));
  return (await known()) || ((await run('modprobe', ['overlay'])).code === 0 && (await known()));
}
