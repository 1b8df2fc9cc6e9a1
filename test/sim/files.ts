import type { Clock } from '../../src/host/clock.ts';
import type { DirEntry, FileInfo, Files } from '../../src/host/files.ts';

type Operation = keyof Files;

interface FileNode {
  kind: 'file';
  data: Buffer;
  /** What a crash of the machine leaves: the content at the last fsync. */
  synced: Buffer | undefined;
  mode: number;
  mtimeMs: number;
}
interface DirNode {
  kind: 'directory';
  children: Map<string, Node>;
  mode: number;
  mtimeMs: number;
}
interface LinkNode {
  kind: 'symlink';
  target: string;
  mode: number;
  mtimeMs: number;
}
type Node = FileNode | DirNode | LinkNode;

/** A system error to inject. The first fault that matches strikes. */
export interface FileFault {
  /** Every operation when missing. */
  op?: Operation | readonly Operation[];
  /** The path itself and what lies below it; every path when missing. */
  under?: string;
  code: 'ENOSPC' | 'EROFS' | 'EIO' | 'EACCES' | 'EMFILE';
  /** Matching calls let through first. */
  skip?: number;
  /** How often it strikes at most. */
  times?: number;
}

const maxLinks = 40;
const defaultReadLimit = 10 * 1024 * 1024;
const writing: readonly Operation[] = ['mkdir', 'write', 'writeAtomic', 'symlink', 'rename', 'unlink', 'rmdir', 'removeTree'];
const growing: readonly Operation[] = ['mkdir', 'write', 'writeAtomic', 'symlink'];
const errnos: Record<string, number> = {
  ENOENT: -2,
  EIO: -5,
  EACCES: -13,
  EEXIST: -17,
  ENOTDIR: -20,
  EISDIR: -21,
  EINVAL: -22,
  EMFILE: -24,
  ENOSPC: -28,
  EROFS: -30,
  ENOTEMPTY: -39,
  ELOOP: -40,
};

/** A file system in memory, with symlinks, faults and the loss of unsynced data. The process that uses it is root. */
export class SimFiles implements Files {
  #clock: Pick<Clock, 'now'>;
  #root: DirNode;
  #faults = new Map<FileFault, { seen: number; struck: number }>();
  #listeners: ((op: Operation, path: string) => void)[] = [];
  /** Calls so far by operation. */
  readonly calls = new Map<Operation, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#root = { kind: 'directory', children: new Map(), mode: 0o755, mtimeMs: clock.now() };
  }

  /** Calls `listener` at each call, before it has its effect. */
  onCall(listener: (op: Operation, path: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Puts files on the disk before the story begins, with their directories. */
  seed(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      const parts = split(path);
      const name = parts.pop() ?? '';
      let dir = this.#root;
      for (const part of parts) {
        const child = dir.children.get(part);
        const next: DirNode =
          child?.kind === 'directory' ? child : { kind: 'directory', children: new Map(), mode: 0o755, mtimeMs: this.#clock.now() };
        dir.children.set(part, next);
        dir = next;
      }
      const data = Buffer.from(text);
      dir.children.set(name, { kind: 'file', data, synced: data, mode: 0o644, mtimeMs: this.#clock.now() });
    }
  }

  /** Injects `fault` until the function returned is called. */
  fail(fault: FileFault): () => void {
    this.#faults.set(fault, { seen: 0, struck: 0 });
    return () => {
      this.#faults.delete(fault);
    };
  }

  /** A read-only mount at `path`. */
  readOnly(path: string): () => void {
    return this.fail({ op: writing, under: path, code: 'EROFS' });
  }

  /** A full disk at `path`: what needs space fails, removing works. */
  full(path: string): () => void {
    return this.fail({ op: growing, under: path, code: 'ENOSPC' });
  }

  clearFaults(): void {
    this.#faults.clear();
  }

  /** The machine loses power: files that were written in place and never synced are empty or old. */
  crash(): void {
    const visit = (node: Node) => {
      if (node.kind === 'file') node.data = node.synced ?? Buffer.alloc(0);
      if (node.kind === 'directory') for (const child of node.children.values()) visit(child);
    };
    visit(this.#root);
  }

  /** Every path that exists, sorted: for assertions. Directories end in a slash. */
  tree(under = '/'): string[] {
    const out: string[] = [];
    const visit = (node: Node, path: string) => {
      out.push(node.kind === 'directory' ? `${path}/` : path);
      if (node.kind === 'directory') for (const [name, child] of node.children) visit(child, `${path}/${name}`);
    };
    for (const [name, child] of this.#root.children) visit(child, `/${name}`);
    return out.filter((path) => within(path, under)).sort();
  }

  async mkdir(path: string, mode: number): Promise<void> {
    this.#enter('mkdir', path);
    const parts = split(path);
    let dir = this.#root;
    for (let i = 0; i < parts.length; i++) {
      const name = parts[i] as string;
      const child = dir.children.get(name);
      if (!child) {
        const made: DirNode = { kind: 'directory', children: new Map(), mode, mtimeMs: this.#clock.now() };
        this.#put(dir, name, made);
        dir = made;
        continue;
      }
      const real = child.kind === 'symlink' ? this.#find('mkdir', `/${parts.slice(0, i + 1).join('/')}`, true) : child;
      if (!real) throw failure('ENOENT', 'mkdir', path);
      if (real.kind !== 'directory') throw failure(i === parts.length - 1 ? 'EEXIST' : 'ENOTDIR', 'mkdir', path);
      dir = real;
    }
  }

  async read(path: string, maxBytes = defaultReadLimit): Promise<Buffer> {
    this.#enter('read', path);
    const node = this.#need('open', path);
    if (node.kind !== 'file') throw failure('EISDIR', 'read', path);
    return Buffer.from(node.data.subarray(0, maxBytes));
  }

  async write(path: string, data: string | Uint8Array, mode: number): Promise<void> {
    this.#enter('write', path);
    this.#store(path, data, mode, false);
  }

  async writeAtomic(path: string, data: string | Uint8Array, mode: number): Promise<void> {
    this.#enter('writeAtomic', path);
    const { dir, name } = this.#parent('open', path);
    if (dir.children.get(name)?.kind === 'directory') throw failure('EISDIR', 'rename', path);
    const content = Buffer.from(data);
    this.#put(dir, name, { kind: 'file', data: content, synced: content, mode, mtimeMs: this.#clock.now() });
  }

  async list(path: string): Promise<DirEntry[]> {
    this.#enter('list', path);
    const node = this.#need('scandir', path);
    if (node.kind !== 'directory') throw failure('ENOTDIR', 'scandir', path);
    return [...node.children].map(([name, child]) => ({ name, kind: child.kind })).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async stat(path: string): Promise<FileInfo | undefined> {
    this.#enter('stat', path);
    return info(this.#find('stat', path, true));
  }

  async lstat(path: string): Promise<FileInfo | undefined> {
    this.#enter('lstat', path);
    return info(this.#find('lstat', path, false));
  }

  async readlink(path: string): Promise<string> {
    this.#enter('readlink', path);
    const node = this.#find('readlink', path, false);
    if (!node) throw failure('ENOENT', 'readlink', path);
    if (node.kind !== 'symlink') throw failure('EINVAL', 'readlink', path);
    return node.target;
  }

  async symlink(target: string, path: string): Promise<void> {
    this.#enter('symlink', path);
    const { dir, name } = this.#parent('symlink', path);
    const old = dir.children.get(name);
    if (old && old.kind !== 'symlink') throw failure('EEXIST', 'symlink', path);
    this.#put(dir, name, { kind: 'symlink', target, mode: 0o777, mtimeMs: this.#clock.now() });
  }

  async rename(from: string, to: string): Promise<void> {
    this.#enter('rename', from);
    const source = this.#parent('rename', from);
    const node = source.dir.children.get(source.name);
    if (!node) throw failure('ENOENT', 'rename', from);
    const dest = this.#parent('rename', to);
    const old = dest.dir.children.get(dest.name);
    if (old === node) return;
    if (old?.kind === 'directory' && node.kind !== 'directory') throw failure('EISDIR', 'rename', to);
    if (old?.kind === 'directory' && old.children.size > 0) throw failure('ENOTEMPTY', 'rename', to);
    if (old && old.kind !== 'directory' && node.kind === 'directory') throw failure('ENOTDIR', 'rename', to);
    if (node.kind === 'directory' && `${to}/`.startsWith(`${from}/`)) throw failure('EINVAL', 'rename', from);
    source.dir.children.delete(source.name);
    this.#put(dest.dir, dest.name, node);
  }

  async unlink(path: string): Promise<void> {
    this.#enter('unlink', path);
    const at = this.#find('unlink', path, false);
    if (!at) return;
    if (at.kind === 'directory') throw failure('EISDIR', 'unlink', path);
    const { dir, name } = this.#parent('unlink', path);
    dir.children.delete(name);
  }

  async rmdir(path: string): Promise<void> {
    this.#enter('rmdir', path);
    const at = this.#find('rmdir', path, false);
    if (!at) return;
    if (at.kind !== 'directory') throw failure('ENOTDIR', 'rmdir', path);
    if (at.children.size > 0) throw failure('ENOTEMPTY', 'rmdir', path);
    const { dir, name } = this.#parent('rmdir', path);
    dir.children.delete(name);
  }

  async removeTree(path: string): Promise<void> {
    this.#enter('removeTree', path);
    if (!this.#find('rm', path, false)) return;
    const { dir, name } = this.#parent('rm', path);
    dir.children.delete(name);
  }

  #enter(op: Operation, path: string): void {
    if (!path.startsWith('/')) throw new TypeError(`path of ${op} is not absolute: ${path}`);
    this.calls.set(op, (this.calls.get(op) ?? 0) + 1);
    for (const listener of this.#listeners) listener(op, path);
    for (const [fault, count] of this.#faults) {
      if (fault.op !== undefined && (typeof fault.op === 'string' ? fault.op !== op : !fault.op.includes(op))) continue;
      if (fault.under !== undefined && !within(path, fault.under)) continue;
      if (count.seen++ < (fault.skip ?? 0) || count.struck >= (fault.times ?? Number.POSITIVE_INFINITY)) continue;
      count.struck++;
      // An existing directory is not made, so a full or read-only disk does not matter.
      if (op === 'mkdir' && (fault.code === 'EROFS' || fault.code === 'ENOSPC') && this.#find(op, path, true)?.kind === 'directory')
        continue;
      throw failure(fault.code, op, path);
    }
  }

  #store(path: string, data: string | Uint8Array, mode: number, synced: boolean): void {
    const content = Buffer.from(data);
    const existing = this.#find('open', path, true);
    if (existing?.kind === 'directory') throw failure('EISDIR', 'open', path);
    if (existing?.kind === 'file') {
      existing.data = content;
      existing.mode = mode;
      existing.mtimeMs = this.#clock.now();
      return;
    }
    const { dir, name } = this.#parent('open', path);
    this.#put(dir, name, { kind: 'file', data: content, synced: synced ? content : undefined, mode, mtimeMs: this.#clock.now() });
  }

  #put(dir: DirNode, name: string, node: Node): void {
    dir.children.set(name, node);
    dir.mtimeMs = this.#clock.now();
  }

  #need(syscall: string, path: string): FileNode | DirNode {
    const node = this.#find(syscall, path, true);
    if (!node) throw failure('ENOENT', syscall, path);
    return node as FileNode | DirNode;
  }

  #parent(syscall: string, path: string): { dir: DirNode; name: string } {
    const parts = split(path);
    const name = parts.pop();
    if (name === undefined) throw failure('EINVAL', syscall, path);
    const dir = this.#find(syscall, `/${parts.join('/')}`, true);
    if (!dir) throw failure('ENOENT', syscall, path);
    if (dir.kind !== 'directory') throw failure('ENOTDIR', syscall, path);
    return { dir, name };
  }

  /** Walks the path as the kernel does; undefined when a part is missing. */
  #find(syscall: string, path: string, followLast: boolean): Node | undefined {
    let links = 0;
    let todo = split(path);
    let trail: DirNode[] = [this.#root];
    for (;;) {
      const name = todo.shift();
      const here = trail.at(-1) ?? this.#root;
      if (name === undefined) return here;
      if (name === '..') {
        if (trail.length > 1) trail.pop();
        continue;
      }
      const child = here.children.get(name);
      if (!child) return undefined;
      if (child.kind === 'symlink' && (todo.length > 0 || followLast)) {
        if (++links > maxLinks) throw failure('ELOOP', syscall, path);
        if (child.target.startsWith('/')) trail = [this.#root];
        todo = [...split(child.target), ...todo];
        continue;
      }
      if (child.kind === 'directory') {
        trail.push(child);
        continue;
      }
      if (todo.length > 0) throw failure('ENOTDIR', syscall, path);
      return child;
    }
  }
}

function info(node: Node | undefined): FileInfo | undefined {
  if (!node) return undefined;
  const size = node.kind === 'file' ? node.data.length : node.kind === 'symlink' ? node.target.length : 4096;
  return { kind: node.kind, size, mode: node.mode, mtimeMs: node.mtimeMs };
}

function split(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

function within(path: string, under: string): boolean {
  return under === '/' || path === under || path.startsWith(`${under}/`);
}

function failure(code: string, syscall: string, path: string): NodeJS.ErrnoException {
  const err: NodeJS.ErrnoException = new Error(`${code}: simulated, ${syscall} '${path}'`);
  err.code = code;
  err.errno = errnos[code] ?? -1;
  err.syscall = syscall;
  err.path = path;
  return err;
}
