import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, closeSync, constants, openSync } from 'node:fs';

/** Why there is no FUSE here; false when there is. */
export function noFuse(): string | false {
  try {
    accessSync('/dev/fuse', constants.R_OK | constants.W_OK);
    return false;
  } catch {
    return 'no /dev/fuse';
  }
}

export interface HungMount {
  /** Gives all that wait an error, as when the server's process dies. Idempotent. */
  release(): void;
}

/** Mounts a FUSE file system at `target` whose server never answers: whoever looks into it waits. */
export async function hungMount(target: string): Promise<HungMount> {
  const server = openSync('/dev/fuse', 'r+');
  const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other';
  const child = spawn('mount', ['-i', '-n', '-t', 'fuse', '-o', options, '--', 'kts-hung', target], {
    stdio: ['ignore', 'ignore', 'inherit', server],
  });
  const [code] = await once(child, 'exit');
  let isOpen = true;
  const release = () => {
    if (isOpen) closeSync(server);
    isOpen = false;
  };
  if (code !== 0) {
    release();
    throw new Error(`cannot mount a FUSE file system: mount ended with ${code}`);
  }
  return { release };
}
