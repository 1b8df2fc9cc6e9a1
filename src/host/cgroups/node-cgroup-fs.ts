import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { isErrno } from '../files.ts';
import { readMounts } from '../mounts.ts';
import type { CgroupFs, CgroupRefusal } from './cgroup-fs.ts';
import { CgroupError } from './cgroup-fs.ts';
import { CpusetController, CpusetFiles } from './cpuset.ts';
import { type Hierarchy, hierarchiesOf } from './hierarchy.ts';
import type { CgroupLayout } from './layout.ts';
import { detectLayout } from './layout.ts';
import type { CgroupPath } from './path.ts';
import { isWithin, parentPath, requireCgroupPath } from './path.ts';
import type { CgroupSettings, CgroupVersion, CgroupWrite } from './settings.ts';
import { cgroupWrites } from './settings.ts';

const V2Controllers = 'cgroup.controllers';
const V2Subtree = 'cgroup.subtree_control';
const V2Kill = 'cgroup.kill';
const V1FreezerState = 'freezer.state';
/** v2 controllers that pods' groups need, where the kernel has them (contract node.md §4). */
const V2Wanted = ['cpu', 'cpuset', 'memory', 'pids', 'hugetlb'];

/** Waits between attempts to remove a busy group, and between rounds of killing, in milliseconds. */
const RetryDelaysMs = [5, 10, 20, 40, 80, 160, 320, 640];

export interface NodeCgroupFsOptions {
  layout: CgroupLayout;
  /** The topmost group that may be made, changed or removed, e.g. `/kubepods`. */
  scope: CgroupPath;
  clock: Pick<Clock, 'sleep'>;
  /** What the v2 root's cgroup.controllers names; not used on v1. */
  v2Controllers?: readonly string[];
  /** Sends SIGKILL; injected by tests. */
  kill?: (pid: number) => void;
}

/** Reads the machine's layout and builds the control groups below `scope` on it. */
export async function openCgroupFs(scope: CgroupPath, clock: Pick<Clock, 'sleep'>): Promise<NodeCgroupFs> {
  const layout = detectLayout(await readMounts());
  const offered = layout.version === 2 ? await readFile(join(layout.mountPoint, V2Controllers), 'utf8') : '';
  return new NodeCgroupFs({ layout, scope, clock, v2Controllers: words(offered) });
}

/** Control groups through the cgroup file system. */
export class NodeCgroupFs implements CgroupFs {
  readonly version: CgroupVersion;
  readonly #scope: CgroupPath;
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #all: readonly Hierarchy[];
  readonly #own: readonly Hierarchy[];
  readonly #byController = new Map<string, Hierarchy>();
  readonly #kill: (pid: number) => void;
  /** v2 groups whose children have their controllers. */
  readonly #delegated = new Set<CgroupPath>();

  constructor(options: NodeCgroupFsOptions) {
    requireCgroupPath(options.scope);
    this.version = options.layout.version;
    this.#scope = options.scope;
    this.#clock = options.clock;
    this.#kill = options.kill ?? ((pid) => process.kill(pid, 'SIGKILL'));
    this.#all = hierarchiesOf(options.layout, options.v2Controllers ?? []);
    this.#own = this.#all.filter((hierarchy) => hierarchy.own);
    for (const hierarchy of this.#all) {
      for (const controller of hierarchy.controllers) this.#byController.set(controller, hierarchy);
    }
  }

  hasController(name: string): boolean {
    return this.#byController.has(name);
  }

  async exists(path: CgroupPath): Promise<boolean> {
    requireCgroupPath(path);
    if (this.version === 1) return (await Promise.all(this.#own.map((tree) => tree.exists(path)))).every(Boolean);
    const enabled = words((await this.#own[0]?.read(path, V2Controllers)) ?? '');
    return this.#wanted().every((name) => enabled.includes(name)) && (await this.#own[0]?.exists(path)) === true;
  }

  async create(path: CgroupPath, settings: CgroupSettings): Promise<CgroupRefusal[]> {
    this.#requireScope('create', path);
    const refusals: CgroupRefusal[] = [];
    if (this.version === 2) await this.#delegate(parentPath(path), refusals);
    await Promise.all(
      this.#own.map(async (tree) => {
        try {
          const made = await tree.make(path);
          if (tree.controllers.has(CpusetController) && this.version === 1) await this.#seedCpuset(tree, path, made);
        } catch (err) {
          throw new CgroupError('System', 'create', path, messageOf(err), err);
        }
      }),
    );
    return [...refusals, ...(await this.set(path, settings))];
  }

  async set(path: CgroupPath, settings: CgroupSettings): Promise<CgroupRefusal[]> {
    this.#requireScope('change', path);
    const byController = Map.groupBy(cgroupWrites(this.version, settings), (write) => write.controller);
    const refusals: CgroupRefusal[] = [];
    await Promise.all(
      [...byController].map(async ([controller, writes]) => {
        const tree = this.#byController.get(controller);
        if (tree === undefined) return;
        for (const refusal of await applyInOrder(tree, path, writes)) refusals.push(refusal);
      }),
    );
    return refusals;
  }

  async children(path: CgroupPath, everywhere = false): Promise<string[]> {
    requireCgroupPath(path);
    const trees = everywhere ? this.#all : [this.#byController.get('pids') ?? this.#all[0]].filter((tree) => tree !== undefined);
    const names = new Set((await Promise.all(trees.map((tree) => tree.children(path)))).flat());
    return [...names].sort();
  }

  async read(path: CgroupPath, file: string): Promise<string | undefined> {
    requireCgroupPath(path);
    if (file === '' || /[/\0]/.test(file)) throw new Error(`${JSON.stringify(file)} is not a control group file`);
    const controller = file.slice(0, Math.max(0, file.indexOf('.')));
    const tree = this.#byController.get(controller) ?? this.#all[0];
    return tree?.read(path, file);
  }

  async pids(path: CgroupPath): Promise<number[]> {
    requireCgroupPath(path);
    const found = new Set<number>();
    await Promise.all(this.#all.map((tree) => tree.collectPids(path, found)));
    return [...found].sort((a, b) => a - b);
  }

  async kill(path: CgroupPath): Promise<void> {
    this.#requireScope('kill the processes of', path);
    for (const delay of RetryDelaysMs) {
      const pids = (await this.pids(path)).filter((pid) => pid > 0);
      if (pids.length === 0) return;
      if (pids.includes(process.pid)) throw new CgroupError('OutOfScope', 'kill the processes of', path, 'this process itself is in it');
      if (!(await this.#killAtOnce(path))) {
        for (const pid of pids) this.#killOne(path, pid);
        await this.#thaw(path);
      }
      await this.#clock.sleep(delay);
    }
    const left = await this.pids(path);
    if (left.length > 0) throw new CgroupError('ProcessesRemain', 'empty', path, `still there after SIGKILL: pid ${left.join(', ')}`);
  }

  async remove(path: CgroupPath): Promise<void> {
    this.#requireScope('remove', path);
    if (path === '/') throw new CgroupError('OutOfScope', 'remove', path, 'it is the root of the hierarchy');
    this.#forget(path);
    const failures = await Promise.allSettled(this.#all.map((tree) => this.#removeFrom(tree, path)));
    for (const failure of failures) {
      if (failure.status === 'fulfilled') continue;
      const code = isErrno(failure.reason, 'EBUSY') ? 'Busy' : 'System';
      throw new CgroupError(code, 'remove', path, messageOf(failure.reason), failure.reason);
    }
  }

  async #removeFrom(tree: Hierarchy, path: CgroupPath): Promise<void> {
    for (const delay of RetryDelaysMs) {
      try {
        await tree.remove(path);
        return;
      } catch (err) {
        if (!isErrno(err, 'EBUSY')) throw err;
        // A dead process leaves its group a moment later; one that is alive is the caller's to kill.
        const left = new Set<number>();
        await tree.collectPids(path, left);
        if (left.size > 0) throw err;
        await this.#clock.sleep(delay);
      }
    }
    await tree.remove(path);
  }

  /** v2, kernel 5.14 and later: kills the whole subtree, also processes that fork meanwhile. */
  async #killAtOnce(path: CgroupPath): Promise<boolean> {
    if (this.version !== 2) return false;
    try {
      await this.#own[0]?.write(path, V2Kill, '1');
      return true;
    } catch (err) {
      if (isErrno(err, 'ENOENT', 'EOPNOTSUPP')) return false;
      throw new CgroupError('System', 'kill the processes of', path, messageOf(err), err);
    }
  }

  #killOne(path: CgroupPath, pid: number): void {
    if (pid <= 1) throw new CgroupError('OutOfScope', 'kill the processes of', path, `pid ${pid} is in it`);
    try {
      this.#kill(pid);
    } catch (err) {
      if (!isErrno(err, 'ESRCH')) throw new CgroupError('System', 'kill the processes of', path, `pid ${pid}: ${messageOf(err)}`, err);
    }
  }

  /** v1: a frozen process takes SIGKILL only when it is thawed. */
  async #thaw(path: CgroupPath): Promise<void> {
    const tree = this.#byController.get('freezer');
    if (tree === undefined) return;
    await tree.write(path, V1FreezerState, 'THAWED').catch(() => {});
    for (const child of await tree.children(path)) await this.#thaw(join(path, child));
  }

  /** v1: a new cpuset group has no CPUs and no memory nodes, and no process can join it before it has both. */
  async #seedCpuset(tree: Hierarchy, path: CgroupPath, made: readonly CgroupPath[]): Promise<void> {
    // Also an existing group may be blank, when the agent was killed between the two steps.
    for (const group of made.length > 0 ? made : [path]) {
      for (const file of CpusetFiles) {
        if (((await tree.read(group, file)) ?? '').trim() !== '') continue;
        const above = ((await tree.read(parentPath(group), file)) ?? '').trim();
        if (above !== '') await tree.write(group, file, above);
      }
    }
  }

  /** v2: gives the children of `path` their controllers, from the root down. */
  async #delegate(path: CgroupPath, refusals: CgroupRefusal[]): Promise<void> {
    if (this.#delegated.has(path)) return;
    const tree = this.#own[0];
    if (tree === undefined) return;
    if (path !== '/') await this.#delegate(parentPath(path), refusals);
    if (isWithin(path, this.#scope)) await tree.make(path);
    const [offered, enabled] = await Promise.all([tree.read(path, V2Controllers), tree.read(path, V2Subtree)]);
    const missing = this.#wanted().filter((name) => words(offered ?? '').includes(name) && !words(enabled ?? '').includes(name));
    for (const name of missing) {
      const value = `+${name}`;
      await tree.write(path, V2Subtree, value).catch((err: unknown) => refusals.push(refusalOf(path, V2Subtree, value, err)));
    }
    this.#delegated.add(path);
  }

  #wanted(): string[] {
    return V2Wanted.filter((name) => this.#byController.has(name));
  }

  #forget(path: CgroupPath): void {
    for (const known of this.#delegated) if (isWithin(known, path)) this.#delegated.delete(known);
  }

  #requireScope(operation: string, path: CgroupPath): void {
    requireCgroupPath(path);
    if (!isWithin(path, this.#scope)) throw new CgroupError('OutOfScope', operation, path, `it is not below ${this.#scope}`);
  }
}

/** Writes one after another. A refused one that a later one makes possible (v1 period and quota) is tried again once. */
async function applyInOrder(tree: Hierarchy, path: CgroupPath, writes: readonly CgroupWrite[]): Promise<CgroupRefusal[]> {
  let pending = writes;
  for (let round = 0; ; round++) {
    const refused: { write: CgroupWrite; refusal: CgroupRefusal }[] = [];
    for (const write of pending) {
      await tree.write(path, write.file, write.value).catch((err: unknown) => {
        refused.push({ write, refusal: refusalOf(path, write.file, write.value, err) });
      });
    }
    if (refused.length === 0 || refused.length === writes.length || round === 1) return refused.map(({ refusal }) => refusal);
    pending = refused.map(({ write }) => write);
  }
}

function refusalOf(path: CgroupPath, file: string, value: string, err: unknown): CgroupRefusal {
  return { path, file, value, code: isErrno(err) ? (err.code ?? 'UNKNOWN') : 'UNKNOWN', message: messageOf(err) };
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
