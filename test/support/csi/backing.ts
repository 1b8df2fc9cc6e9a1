import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseMountInfo } from '../../../src/host/mounts.ts';

const run = (file: string, ...args: string[]) => execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/** Where the test driver keeps its volumes: directories, and files behind loop devices. */
export class Backing {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
    mkdirSync(dir, { recursive: true });
  }

  /** The directory of a volume, made when it is not there. */
  directory(volume: string): string {
    const path = join(this.dir, 'volumes', volume);
    mkdirSync(path, { recursive: true });
    return path;
  }

  image(volume: string): string {
    return join(this.dir, `${volume}.img`);
  }

  makeImage(volume: string, bytes: number): void {
    const file = openSync(this.image(volume), 'a');
    ftruncateSync(file, bytes);
    closeSync(file);
  }

  /** The loop device of a volume's file, undefined when it has none. */
  device(volume: string): string | undefined {
    return run('losetup', '-j', this.image(volume)).split(':')[0] || undefined;
  }

  attach(volume: string): string {
    return this.device(volume) ?? run('losetup', '--find', '--show', this.image(volume));
  }

  detach(volume: string): void {
    const device = existsSync(this.image(volume)) ? this.device(volume) : undefined;
    if (device !== undefined) run('losetup', '-d', device);
  }

  /** The file and its device grow. */
  grow(volume: string, bytes: number): void {
    if (statSync(this.image(volume)).size < bytes) this.makeImage(volume, bytes);
    const device = this.device(volume);
    if (device !== undefined) run('losetup', '-c', device);
  }

  size(volume: string): number {
    return statSync(this.image(volume)).size;
  }
}

/** Files that the loop devices of this machine show. */
export function loopFiles(): string[] {
  return run('losetup', '-l', '-n', '-O', 'BACK-FILE')
    .split('\n')
    .map((line) => line.trim());
}

export function isMounted(path: string): boolean {
  return mountsAt(path) > 0;
}

function mountsAt(path: string): number {
  return parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter((m) => m.mountPoint === path).length;
}

/** Binds a directory, or a file, which is made. Once only. */
export function bind(source: string, target: string, readOnly: boolean): void {
  if (isMounted(target)) return;
  if (statSync(source).isDirectory()) mkdirSync(target, { recursive: true });
  else {
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, '');
  }
  run('mount', '--bind', source, target);
  if (readOnly) run('mount', '-o', 'remount,bind,ro', target);
}

/** Unmounts whatever is at `target`, and removes it. */
export function unbind(target: string): void {
  while (isMounted(target)) run('umount', target);
  if (!existsSync(target)) return;
  // Never what lies in it: a directory that is not empty is somebody's data.
  if (statSync(target).isDirectory()) rmdirSync(target);
  else rmSync(target);
}
