import { isRestartableInitContainer } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';

interface HostPort {
  protocol: string;
  port: number;
  ip: string;
}

const AnyAddress = '0.0.0.0';

/** True when a host port of the pod is taken by another pod, counting an address-less one as every address. */
export function hasPortConflict(pod: Pod, others: readonly Pod[]): boolean {
  const taken = others.flatMap(hostPorts);
  return hostPorts(pod).some((wanted) => taken.some((other) => conflicts(wanted, other)));
}

function conflicts(a: HostPort, b: HostPort): boolean {
  return a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === AnyAddress || b.ip === AnyAddress);
}

/** Of regular containers and sidecars: ordinary init containers are gone by the time ports matter. */
function hostPorts(pod: Pod): HostPort[] {
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isRestartableInitContainer)];
  const ports = containers.flatMap((container) => container.ports ?? []);
  return ports
    .filter(({ hostPort }) => (hostPort ?? 0) > 0)
    .map(({ hostPort, hostIP, protocol }) => ({ port: hostPort ?? 0, ip: hostIP || AnyAddress, protocol: protocol ?? 'TCP' }));
}
