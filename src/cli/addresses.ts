import type { KubeletFlags } from '../config/types.ts';
import { nodeAddresses } from '../host/network.ts';
import type { Logger } from '../observe/log.ts';

/** The addresses of --node-ip; none where it is not given. */
export function givenNodeIPs({ nodeIP }: Pick<KubeletFlags, 'nodeIP'>): string[] {
  return nodeIP === '' ? [] : nodeIP.split(',').map((ip) => ip.trim());
}

/** The addresses of the node, primary first: of --node-ip, else found. Without one it goes on, with a warning. */
export async function machineAddresses(flags: KubeletFlags, hostname: string, log: Logger): Promise<string[]> {
  const found = await nodeAddresses({ nodeIps: givenNodeIPs(flags), hostname });
  if (found.length === 0) log.warn('The node has no address: pods on the host network show none', { node: hostname });
  return found;
}
