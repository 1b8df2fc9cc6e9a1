import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { networkInterfaces, hostname as osHostname } from 'node:os';

/** One address of an interface of this machine. */
export interface InterfaceAddress {
  interface: string;
  address: string;
  family: 4 | 6;
}

/** What address discovery asks the machine. */
export interface NetworkProbe {
  interfaces(): InterfaceAddress[];
  /** Names of the interfaces that hold a default route of that family, in routing-table order. */
  defaultRouteInterfaces(family: 4 | 6): Promise<string[]>;
  /** Addresses of `name` by DNS or the hosts file; empty when it has none. */
  lookup(name: string): Promise<string[]>;
}

export interface NodeAddressInput {
  /** `--node-ip`: at most two addresses; `0.0.0.0` or `::` alone only states a family preference. */
  nodeIps?: readonly string[];
  /** The node's host name (or `--hostname-override`). */
  hostname: string;
}

/**
 * The node's addresses, primary first: the first rule that gives one among `--node-ip` (checked to be usable), a host
 * name that is an address, DNS of the host name, the address of the default route's interface. Empty when the machine
 * has none at all. Throws when a given `--node-ip` is not a usable address of this machine. Source: contract node.md §1.
 */
export async function nodeAddresses(input: NodeAddressInput, probe: NetworkProbe = systemNetwork): Promise<string[]> {
  const given = input.nodeIps ?? [];
  const preferred: 4 | 6 = given[0] !== undefined && isIP(given[0]) === 6 ? 6 : 4;
  const interfaces = probe.interfaces();
  const specific = given.filter((ip) => !isUnspecified(ip));
  if (specific.length > 0) {
    for (const ip of specific) {
      const fault = addressFault(ip, interfaces);
      if (fault !== undefined) throw new Error(`nodeIP ${JSON.stringify(ip)} cannot be used: ${fault}`);
    }
    return specific;
  }
  if (isIP(input.hostname) !== 0) return [input.hostname];
  const usable = (await probe.lookup(input.hostname)).filter((ip) => addressFault(ip, interfaces) === undefined);
  const named = usable.find((ip) => isIP(ip) === preferred) ?? usable[0];
  if (named !== undefined) return [named];
  for (const family of preferred === 4 ? ([4, 6] as const) : ([6, 4] as const)) {
    for (const name of await probe.defaultRouteInterfaces(family)) {
      const found = interfaces.find((a) => a.interface === name && a.family === family && rangeFault(a.address) === undefined);
      if (found !== undefined) return [found.address];
    }
  }
  return [];
}

/** Why `ip` cannot be a node address, undefined when it can. */
function addressFault(ip: string, interfaces: readonly InterfaceAddress[]): string | undefined {
  if (isIP(ip) === 0) return 'it is not an IP address';
  const fault = rangeFault(ip);
  if (fault !== undefined) return fault;
  const wanted = canonical(ip);
  return interfaces.some((a) => canonical(a.address) === wanted) ? undefined : 'no interface of this machine has it';
}

function rangeFault(ip: string): string | undefined {
  const text = canonical(ip);
  if (isUnspecified(text)) return 'it is the unspecified address';
  if (isIP(text) === 4) {
    const [a = 0, b = 0] = text.split('.').map(Number);
    if (a === 127) return 'it is a loopback address';
    if (a >= 224 && a < 240) return 'it is a multicast address';
    if (a === 169 && b === 254) return 'it is a link-local address';
    return undefined;
  }
  if (text === '::1') return 'it is a loopback address';
  if (text.startsWith('ff')) return 'it is a multicast address';
  return /^fe[89ab]/.test(text) ? 'it is a link-local address' : undefined;
}

function isUnspecified(ip: string): boolean {
  const text = canonical(ip);
  return text === '0.0.0.0' || text === '::';
}

/** One spelling per address: WHATWG URLs compress IPv6. */
function canonical(ip: string): string {
  if (isIP(ip) !== 6 || ip.includes('%')) return ip;
  return new URL(`http://[${ip}]/`).hostname.slice(1, -1);
}

/** Interfaces with an IPv4 default route, from the text of /proc/net/route. */
export function parseIPv4DefaultRoutes(text: string): string[] {
  const names: string[] = [];
  for (const line of text.split('\n').slice(1)) {
    const [name, destination, , flags, , , , mask] = line.trim().split(/\s+/);
    if (name === undefined || destination !== '00000000' || mask !== '00000000') continue;
    if (usableRoute(flags)) names.push(name);
  }
  return names;
}

/** Interfaces with an IPv6 default route, from the text of /proc/net/ipv6_route. */
export function parseIPv6DefaultRoutes(text: string): string[] {
  const names: string[] = [];
  for (const line of text.split('\n')) {
    const [destination, prefix, , , gateway, , , , flags, name] = line.trim().split(/\s+/);
    if (name === undefined || name === 'lo' || prefix !== '00' || destination !== '0'.repeat(32) || gateway === '0'.repeat(32)) continue;
    if (usableRoute(flags)) names.push(name);
  }
  return names;
}

/** Up, and not one that rejects packets (linux/route.h). */
function usableRoute(flags: string | undefined): boolean {
  const bits = Number.parseInt(flags ?? '', 16);
  return (bits & 0x1) !== 0 && (bits & 0x200) === 0;
}

/** This machine's network. */
export const systemNetwork: NetworkProbe = {
  interfaces() {
    return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
      (addresses ?? []).map((a) => ({ interface: name, address: a.address, family: a.family === 'IPv6' ? (6 as const) : (4 as const) })),
    );
  },
  async defaultRouteInterfaces(family) {
    if (family === 4) return parseIPv4DefaultRoutes(await readFile('/proc/net/route', 'utf8').catch(() => ''));
    return parseIPv6DefaultRoutes(await readFile('/proc/net/ipv6_route', 'utf8').catch(() => ''));
  },
  async lookup(name) {
    const found = await lookup(name, { all: true }).catch(() => []);
    return found.map((entry) => entry.address);
  },
};

/** The machine's host name as a node name: lower case, without surrounding blanks. `override` wins when not empty. */
export function nodeName(override = ''): string {
  return (override === '' ? osHostname() : override).trim().toLowerCase();
}
