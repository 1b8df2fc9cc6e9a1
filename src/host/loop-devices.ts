import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isErrno } from './files.ts';

/** Loop devices that hold a device, or a file, open. */
export interface LoopDevices {
  /** Has a loop device on `path`, unless there is one. Rejects with the tool's own words. */
  attach(path: string): Promise<void>;
  /** Lets go of the loop device on `path`; none is no error. */
  detach(path: string): Promise<void>;
}

const run = promisify(execFile);
const ToolTimeoutMs = 60_000;

/** Loop devices of this machine, by losetup of util-linux. */
export const nodeLoops: LoopDevices = {
  async attach(path) {
    if ((await find(path)) === undefined) await losetup(['--find', path]);
  },

  async detach(path) {
    const device = await find(path);
    if (device !== undefined) await losetup(['--detach', device]);
  },
};

/** The loop device whose backing file has that name. */
async function find(path: string): Promise<string | undefined> {
  const text = await losetup(['--list', '--noheadings', '--raw', '--output', 'NAME,BACK-FILE']);
  for (const line of text.split('\n')) {
    const at = line.indexOf(' ');
    // The kernel marks a backing file whose name was removed.
    if (at > 0 && line.slice(at + 1).replace(/ \(deleted\)$/, '') === path) return line.slice(0, at);
  }
  return undefined;
}

async function losetup(args: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' };
  try {
    const { stdout } = await run('losetup', [...args], { timeout: ToolTimeoutMs, env });
    return stdout;
  } catch (err) {
    if (isErrno(err, 'ENOENT')) throw new Error('losetup is not installed: install util-linux', { cause: err });
    const stderr = err instanceof Error && 'stderr' in err && typeof err.stderr === 'string' ? err.stderr.trim() : '';
    throw new Error(stderr === '' ? String(err) : stderr, { cause: err });
  }
}
