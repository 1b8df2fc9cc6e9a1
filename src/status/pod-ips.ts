import { isIPv4, isIPv6 } from 'node:net';
import type { ObservedPod } from '../pleg/types.ts';

/**
 * The addresses to show for a pod: at most one of each family, the node's preferred family first (`hostIPs[0]`'s, IPv4
 * when unknown). Without a ready sandbox the earlier ones are kept: a pod that has ended still shows where it was.
 * A host-network pod has the node's addresses. Source: contract pod-lifecycle.md §14.
 */
export function podIPs(
  observed: ObservedPod | undefined,
  previous: readonly string[],
  hostIPs: readonly string[],
  hostNetwork: boolean,
): string[] {
  const seen = observed?.ips ?? [];
  if (hostNetwork) {
    const [first, second] = hostIPs;
    const own = ordered(seen, hostIPs);
    const primary = own[0] ?? first;
    if (primary === undefined) return [];
    const other = own[1] ?? (second !== undefined && isIPv6(second) !== isIPv6(primary) ? second : undefined);
    return other === undefined ? [primary] : [primary, other];
  }
  const sandboxReady = observed?.sandboxes.some((s) => s.state === 'ready') === true;
  return ordered(seen.length === 0 && !sandboxReady ? previous : seen, hostIPs);
}

function ordered(ips: readonly string[], hostIPs: readonly string[]): string[] {
  const v4 = ips.map(dotted).find(isIPv4);
  const v6 = ips.find((ip) => isIPv6(ip) && !isIPv4(dotted(ip)));
  const preferV6 = hostIPs[0] !== undefined && isIPv6(hostIPs[0]);
  return (preferV6 ? [v6, v4] : [v4, v6]).filter((ip) => ip !== undefined);
}

/** An IPv4 address in IPv6 clothes (`::ffff:10.0.0.1`) as IPv4. */
function dotted(ip: string): string {
  return ip.toLowerCase().startsWith('::ffff:') && ip.includes('.') ? ip.slice(7) : ip;
}
