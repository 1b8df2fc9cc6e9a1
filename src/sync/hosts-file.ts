import type { PodSpec } from '../api/types.ts';
import type { PodHostname } from './hostname.ts';

const Header = '# Kubernetes-managed hosts file.\n';
const HeaderHostNetwork = '# Kubernetes-managed hosts file (host network).\n';

/** Lines every managed file starts with (contract pod-lifecycle.md §11). */
const FixedLines = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

type HostAliases = PodSpec['hostAliases'];

/** /etc/hosts of a pod with a network of its own: one line a pod IP, then the host aliases. */
export function managedHostsFile(podIps: readonly string[], { hostname, domain }: PodHostname, aliases: HostAliases): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [...FixedLines, ...podIps.map((ip) => `${ip}\t${names}`)];
  return `${Header}${lines.map((line) => `${line}\n`).join('')}${aliasLines(aliases)}`;
}

/** /etc/hosts of a pod in the host's network: the node's own file, byte for byte, between our header and the aliases. */
export function hostNetworkHostsFile(nodeFile: Uint8Array, aliases: HostAliases): Buffer {
  return Buffer.concat([Buffer.from(HeaderHostNetwork), nodeFile, Buffer.from(aliasLines(aliases))]);
}

/** True when the kubelet mounts its /etc/hosts into the container. */
export function needsHostsFile(spec: PodSpec, mountPaths: readonly string[], podIps: readonly string[]): boolean {
  return (podIps.length > 0 || spec.hostNetwork === true) && !mountPaths.includes('/etc/hosts');
}

function aliasLines(aliases: HostAliases): string {
  if (aliases === undefined || aliases === null || aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
