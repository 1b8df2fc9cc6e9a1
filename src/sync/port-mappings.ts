import { ipFamily } from '../api/ip.ts';
import type { Container } from '../api/types.ts';

export interface PortMapping {
  /** As the pod has it; empty counts as TCP with the runtime. */
  protocol: string;
  containerPort: number;
  hostPort: number;
  hostIP: string;
}

/**
 * The ports of a container in order. `dropped` names each later port with the name of an earlier one; a port without
 * a name goes by `family-protocol-hostIP:containerPort:hostPort`. Source: vectors port-mappings.
 */
export function portMappings(container: Pick<Container, 'ports'>): { mappings: PortMapping[]; dropped: string[] } {
  const mappings: PortMapping[] = [];
  const dropped: string[] = [];
  const names = new Set<string>();
  for (const port of container.ports ?? []) {
    const { hostIP = '', hostPort = 0, protocol = '', containerPort } = port;
    const family = hostIP === '' ? 'any' : ipFamily(hostIP) === 6 ? 'v6' : 'v4';
    const name = port.name ? port.name : `${family}-${protocol}-${hostIP}:${containerPort}:${hostPort}`;
    if (names.has(name)) {
      dropped.push(name);
      continue;
    }
    names.add(name);
    mappings.push({ protocol, containerPort, hostPort, hostIP });
  }
  return { mappings, dropped };
}
