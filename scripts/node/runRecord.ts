import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, type ProcessRef, processRef } from './processes.ts';

/** Where runs are registered: one folder a run, named by its number. Machine-wide, so that all checkouts see each other. */
export const RUNS_DIR = '/run/kubelet-ts';
/** Bound by the subnets that `subnets.ts` cuts. */
const MAX_RUNS = 64;

/** Everything needed to remove a run from outside, also after its owner was killed. */
export interface RunRecord {
  index: number;
  owner: ProcessRef;
  /** Boot id: a record of an earlier boot names nothing that lives. */
  boot: string;
  /** Folder with root, configuration and logs of containerd. */
  dir: string;
  state: string;
  socket: string;
  config: string;
  network: string;
  bridge: string;
  subnet: string;
  cgroupRoot: string;
  /** Chains that existed before the first of the runs that live side by side. */
  chainsBefore: string[];
  /** True when forwarding was off before them. */
  forwardingWasOff: boolean;
  /** True when /run/containerd did not exist before them. */
  shimDirWasAbsent: boolean;
  /** Further processes to end with the run: the agent. */
  processes: ProcessRef[];
  /** Further folders to unmount and remove with the run. */
  folders: string[];
}

export const runDir = (index: number) => join(RUNS_DIR, String(index));

export async function bootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}

/** Takes a free run number; the folder `runDir(n)` is then this process's own. */
export async function claimRun(): Promise<number> {
  await mkdir(RUNS_DIR, { recursive: true, mode: 0o711 });
  for (let index = 0; index < MAX_RUNS; index++) {
    try {
      await mkdir(runDir(index), { mode: 0o711 });
      return index;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  throw new Error(`all ${MAX_RUNS} run numbers below ${RUNS_DIR} are taken`);
}

const writing = new Map<number, Promise<void>>();

/** Writes the record as it is when its turn comes: writes of one run pass one at a time. */
export function writeRecord(record: RunRecord): Promise<void> {
  const path = join(runDir(record.index), 'run.json');
  const write = async () => {
    await writeFile(`${path}.new`, JSON.stringify(record, null, 2));
    await rename(`${path}.new`, path);
  };
  const turn = (writing.get(record.index) ?? Promise.resolve()).catch(() => {}).then(write);
  writing.set(record.index, turn);
  return turn;
}

export interface FoundRun {
  index: number;
  /** Undefined when the owner died before it wrote the record: then it had made nothing but the folder. */
  record: RunRecord | undefined;
  live: boolean;
}

/** All registered runs. A run is live while its owner lives; a folder without record gets a minute of grace. */
export async function readRuns(): Promise<FoundRun[]> {
  const boot = await bootId();
  const found: FoundRun[] = [];
  for (const name of await readdir(RUNS_DIR).catch(() => [])) {
    if (!/^[0-9]+$/.test(name)) continue;
    const index = Number(name);
    let record: RunRecord | undefined;
    try {
      record = JSON.parse(await readFile(join(runDir(index), 'run.json'), 'utf8')) as RunRecord;
    } catch {
      record = undefined;
    }
    const info = await stat(runDir(index)).catch(() => undefined);
    if (info === undefined) continue;
    const live = record === undefined ? Date.now() - info.mtimeMs < 60_000 : record.boot === boot && (await isAlive(record.owner));
    found.push({ index, record, live });
  }
  return found;
}

/** This process, as the owner of a run. */
export async function ownRef(): Promise<ProcessRef> {
  const ref = await processRef(process.pid);
  if (ref === undefined) throw new Error('cannot read /proc/self/stat');
  return ref;
}

/** Runs `work` unless another process is cleaning the same run up. */
export async function withCleanUpLock(index: number, work: () => Promise<void>): Promise<void> {
  const lock = join(RUNS_DIR, `${index}.cleanup`);
  const holder = await readFile(join(lock, 'holder'), 'utf8').catch(() => undefined);
  if (holder !== undefined && !(await isAlive(JSON.parse(holder) as ProcessRef))) await rm(lock, { recursive: true, force: true });
  try {
    await mkdir(lock);
  } catch {
    return;
  }
  try {
    await writeFile(join(lock, 'holder'), JSON.stringify(await ownRef()));
    await work();
  } finally {
    await rm(lock, { recursive: true, force: true });
    await rmdir(RUNS_DIR).catch(() => {}); // fails while other runs are registered
  }
}
