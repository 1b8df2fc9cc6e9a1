import * as fs from 'node:fs';
import { ifThere, openDirectory, pathOf } from './walk-tree.ts';

const { O_NOFOLLOW } = fs.constants;
/** open(2); see safe-path.ts. */
const O_PATH = 0o10000000;

const SetGid = 0o2000;
/** Each level holds a descriptor. */
const MaxDepth = 1024;

/** Permissions that the group gets: contract node.md §10. */
export function groupMode(mode: number, isDirectory: boolean, readOnly: boolean): number {
  return mode | (readOnly ? 0o440 : 0o660) | (isDirectory ? 0o110 | SetGid : 0);
}

export interface GroupOptions {
  readOnly: boolean;
  /** Leaves everything alone when the root has the group and its permissions already. */
  onRootMismatch: boolean;
}

/** What a walk in a thread and whoever waits for it share: 32-bit counters in shared memory. */
export class WalkControl {
  readonly counters: Int32Array<SharedArrayBuffer>;

  constructor(counters: Int32Array<SharedArrayBuffer> = new Int32Array(new SharedArrayBuffer(8))) {
    this.counters = counters;
  }

  /** Entries that were looked at so far. */
  get count(): number {
    return Atomics.load(this.counters, 0);
  }

  /** The walk is to end at its next entry. */
  stop(): void {
    Atomics.store(this.counters, 1, 1);
  }

  /** Counts an entry. Throws when the walk is to end. */
  next(): void {
    if (Atomics.load(this.counters, 1) !== 0) throw new Error('the walk was stopped');
    Atomics.add(this.counters, 0, 1);
  }
}

/**
 * Gives the tree at `root` to a group, the root last: a run that was cut off is done again. Users keep their files; links
 * get the group and are not followed, also one that is swapped in meanwhile. Blocks: for a thread of its own. Returns how many
 * entries were looked at.
 */
export function setGroup(root: string, gid: number, options: GroupOptions, control = new WalkControl()): number {
  if (options.onRootMismatch) {
    const stats = fs.lstatSync(root);
    if (stats.isDirectory() && isDone(stats, gid, options.readOnly)) return 0;
  }
  setEntry(root, { gid, readOnly: options.readOnly, control }, 0);
  return control.count;
}

interface Walk {
  gid: number;
  readOnly: boolean;
  control: WalkControl;
}

function isDone(stats: { gid: number; mode: number; isDirectory(): boolean }, gid: number, readOnly: boolean): boolean {
  return stats.gid === gid && groupMode(stats.mode, stats.isDirectory(), readOnly) === stats.mode;
}

function setEntry(path: string, walk: Walk, depth: number): void {
  const stats = ifThere(() => fs.lstatSync(path));
  if (stats === undefined) return;
  walk.control.next();
  if (stats.isDirectory()) setDirectory(path, walk, depth);
  else if (stats.isSymbolicLink()) ifThere(() => stats.gid === walk.gid || fs.lchownSync(path, stats.uid, walk.gid));
  else if (!isDone(stats, walk.gid, walk.readOnly)) setFile(path, walk);
}

function setFile(path: string, walk: Walk): void {
  const file = ifThere(() => fs.openSync(path, O_PATH | O_NOFOLLOW));
  if (file === undefined) return;
  try {
    const stats = fs.fstatSync(file);
    if (!stats.isSymbolicLink()) change(file, stats, walk);
  } finally {
    fs.closeSync(file);
  }
}

function setDirectory(path: string, walk: Walk, depth: number): void {
  if (depth >= MaxDepth) throw new Error(`a directory is deeper than ${MaxDepth} levels`);
  const directory = openDirectory(path);
  if (directory === undefined) return;
  try {
    const base = pathOf(directory);
    for (const name of fs.readdirSync(base)) setEntry(`${base}/${name}`, walk, depth + 1);
    const stats = fs.fstatSync(directory);
    if (!isDone(stats, walk.gid, walk.readOnly)) change(directory, stats, walk);
  } finally {
    fs.closeSync(directory);
  }
}

/** Through the descriptor's own name: fchmod(2) does not take one that was opened with O_PATH. */
function change(file: number, stats: fs.Stats, { gid, readOnly }: Walk): void {
  const path = pathOf(file);
  fs.chownSync(path, stats.uid, gid);
  fs.chmodSync(path, groupMode(stats.mode, stats.isDirectory(), readOnly) & 0o7777);
}
