import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { mustRun } from '../../../scripts/node/run.ts';

export interface NodeNetworkInput {
  /** A folder for its files, of which one is a mount that keeps the namespace alive. */
  dir: string;
  bridge: string;
  /** The bridge's own address: the node's way out. */
  gateway: string;
  address: string;
  /** Name of the host's end of the cable. */
  link: string;
}

/** A network namespace that stands for a machine of its own: `eth0` on the cluster's bridge, routes, forwarding. */
export interface NodeNetwork {
  readonly address: string;
  /** A program that runs the given one in this network, with the same arguments and the same pid. */
  wrap(program: string): Promise<string>;
  route(subnet: string, via: string): Promise<void>;
}

/**
 * Only the network is apart; mounts and processes are the host's, so that the clean-up of runs finds them. The namespace
 * goes when its mount below `dir` and its processes are gone, and the cable with it.
 */
export async function makeNodeNetwork({ dir, bridge, gateway, address, link }: NodeNetworkInput): Promise<NodeNetwork> {
  const file = join(dir, 'net');
  await mkdir(dir, { recursive: true });
  await writeFile(file, '');
  await mustRun('unshare', [`--net=${file}`, 'true']);
  const inside = (...command: string[]) => mustRun('nsenter', [`--net=${file}`, '--', ...command]);
  await inside('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', link, 'netns', String(process.pid));
  await mustRun('ip', ['link', 'set', link, 'master', bridge, 'up']);
  await inside('ip', 'link', 'set', 'lo', 'up');
  await inside('ip', 'address', 'add', `${address}/22`, 'dev', 'eth0');
  await inside('ip', 'link', 'set', 'eth0', 'up');
  await inside('ip', 'route', 'add', 'default', 'via', gateway);
  await inside('sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward');
  return {
    address,
    async wrap(program) {
      const path = join(dir, basename(program));
      // By its full path: the callers put the folder of their program first on PATH, which here is the wrapper's.
      const target = program.includes('/') ? program : (await mustRun('which', [program])).trim();
      const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
      await writeFile(path, `#!/bin/sh\nexec nsenter ${quoted(`--net=${file}`)} -- ${quoted(target)} "$@"\n`);
      await chmod(path, 0o755);
      return path;
    },
    async route(subnet, via) {
      await inside('ip', 'route', 'add', subnet, 'via', via);
    },
  };
}
