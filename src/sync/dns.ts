import { fields, trimSpace } from '../api/go-space.ts';
import { canonicalIp, ipFamily } from '../api/ip.ts';
import { formatPod } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';

/** A pod's resolver settings. Source: vectors dns; contract events.md (DNSConfigForming, MissingClusterDNS). */

export interface DnsConfig {
  servers: string[];
  searches: string[];
  options: string[];
}

/** A Warning to record; on the node, or on the pod. */
export interface DnsEvent {
  on: 'node' | 'pod';
  reason: 'DNSConfigForming' | 'MissingClusterDNS' | 'CheckLimitsForResolvConf';
  message: string;
}

export interface DnsSettings {
  /** What the configured resolv.conf says; undefined where the kubelet is configured to use none. */
  host: DnsConfig | undefined;
  nodeIPs: readonly string[];
  clusterDNS: readonly string[];
  clusterDomain: string;
}

export class ResolvConfError extends Error {
  readonly code = 'invalid-resolv-conf';
  constructor(reason: string) {
    super(reason);
    this.name = 'ResolvConfError';
  }
}

const MAX_FILE_LENGTH = 10 * 2 ** 20;
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
/** Of the whole search line, in bytes. */
const MAX_SEARCH_LINE = 2048;
/** Some resolvers abort on a longer domain. */
const MAX_SEARCH_LENGTH = 253;
const CLUSTER_SEARCHES = 3;

const bytesOf = (text: string): number => Buffer.byteLength(text);
const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

/** Reads a resolv.conf: servers add up, the last search line counts, of equal options the last. Throws ResolvConfError. */
export function parseResolvConf(text: string): DnsConfig {
  if (bytesOf(text) >= MAX_FILE_LENGTH) throw new ResolvConfError(`resolv.conf is longer than ${MAX_FILE_LENGTH} bytes`);
  const servers: string[] = [];
  let searches: string[] = [];
  const options = new Map<string, string>();
  for (const line of text.split('\n').map(trimSpace)) {
    if (line.startsWith('#')) continue;
    const [keyword, ...values] = fields(line);
    if (keyword === 'nameserver') {
      const [server] = values;
      if (server === undefined) throw new ResolvConfError('nameserver list is empty ');
      servers.push(server);
    } else if (keyword === 'search') {
      searches = values.filter((domain) => domain !== '.').map((domain) => domain.replace(/\.$/, ''));
    } else if (keyword === 'options') {
      for (const option of values) options.set(option.split(':', 1)[0] ?? '', option);
    }
  }
  return { servers, searches, options: [...options.values()] };
}

function mergeOptions(known: readonly string[], added: readonly { name: string; value?: string | null }[]): string[] {
  const options = new Map<string, string>();
  for (const option of known) {
    const colon = option.indexOf(':');
    if (colon < 0) options.set(option, '');
    else options.set(option.slice(0, colon), option.slice(colon + 1));
  }
  for (const { name, value } of added) options.set(name, value ?? '');
  return [...options].map(([name, value]) => (value === '' ? name : `${name}:${value}`));
}

/** As many domains as fit in number and bytes; a domain that is too long is left out. */
function fitSearches(searches: readonly string[]): string[] {
  const fitting = searches.slice(0, MAX_SEARCHES).filter((domain) => bytesOf(domain) <= MAX_SEARCH_LENGTH);
  while (bytesOf(fitting.join(' ')) > MAX_SEARCH_LINE) fitting.pop();
  return fitting;
}

function fitLimits(config: DnsConfig, events: DnsEvent[]): DnsConfig {
  const exceeded = (what: string, which: string, line: string, applied: string) =>
    events.push({
      on: 'pod',
      reason: 'DNSConfigForming',
      message: `${what} limits were exceeded, some ${which} have been omitted, the applied ${line} line is: ${applied}`,
    });
  const servers = config.servers.slice(0, MAX_SERVERS);
  if (servers.length < config.servers.length) exceeded('Nameserver', 'nameservers', 'nameserver', servers.join(' '));
  const searches = fitSearches(config.searches);
  if (searches.length < config.searches.length) exceeded('Search Line', 'search paths', 'search', searches.join(' '));
  return { servers, searches, options: config.options };
}

/** Lookups go to the node itself, by each family it has. */
function withoutResolvConf(nodeIPs: readonly string[]): DnsConfig {
  const servers = nodeIPs.map((ip) => (ipFamily(ip) === 6 ? '::1' : '127.0.0.1'));
  return { servers: servers.length > 0 ? servers : ['127.0.0.1'], searches: ['.'], options: [] };
}

/** An unknown policy counts as ClusterFirst. */
function baseConfig(pod: Pod, settings: DnsSettings, events: DnsEvent[]): DnsConfig {
  const { host, clusterDNS, clusterDomain, nodeIPs } = settings;
  const policy = pod.spec.dnsPolicy;
  if (policy === 'None') return { servers: [], searches: [], options: [] };
  const useHost = policy === 'Default' || (policy === 'ClusterFirst' && pod.spec.hostNetwork === true);
  const hostConfig = host ?? withoutResolvConf(nodeIPs);
  if (useHost) return hostConfig;
  if (clusterDNS.length === 0) {
    const message =
      'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.';
    events.push({ on: 'node', reason: 'MissingClusterDNS', message });
    events.push({ on: 'pod', reason: 'MissingClusterDNS', message: `pod: "${formatPod(pod)}". ${message}` });
    return hostConfig;
  }
  const { namespace } = pod.metadata;
  const hostSearches = host?.searches ?? [];
  const cluster = [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  return {
    servers: clusterDNS.map((ip) => canonicalIp(ip) ?? ip),
    searches: clusterDomain === '' ? hostSearches : unique([...cluster, ...hostSearches]),
    options: ['ndots:5'],
  };
}

/** The resolver settings of a pod, and the warnings to record about them. */
export function podDns(pod: Pod, settings: DnsSettings): { config: DnsConfig; events: DnsEvent[] } {
  const events: DnsEvent[] = [];
  let config = baseConfig(pod, settings, events);
  const { dnsConfig } = pod.spec;
  if (dnsConfig) {
    config = {
      servers: unique([...config.servers, ...(dnsConfig.nameservers ?? [])]),
      searches: unique([...config.searches, ...(dnsConfig.searches ?? [])]),
      options: mergeOptions(config.options, dnsConfig.options ?? []),
    };
  }
  return { config: fitLimits(config, events), events };
}

/**
 * What is wrong with the node's resolv.conf for pods, as the warning to record on the node; undefined when nothing is.
 * `text` is an Error where the file could not be read.
 */
export function checkResolvConfLimits(path: string, text: string | Error, clusterDomain: string): DnsEvent | undefined {
  const warning = (message: string): DnsEvent => ({ on: 'node', reason: 'CheckLimitsForResolvConf', message });
  if (text instanceof Error) return warning(text.message);
  let searches: string[];
  try {
    searches = parseResolvConf(text).searches;
  } catch (error) {
    if (error instanceof ResolvConfError) return warning(error.message);
    throw error;
  }
  const limit = MAX_SEARCHES - (clusterDomain === '' ? 0 : CLUSTER_SEARCHES);
  if (searches.length > limit) return warning(`Resolv.conf file '${path}' contains search line consisting of more than ${limit} domains!`);
  if (searches.some((domain) => bytesOf(domain) > MAX_SEARCH_LENGTH)) {
    const subject = `Resolv.conf file ${JSON.stringify(path)} contains a search path`;
    return warning(`${subject} which length is more than allowed ${MAX_SEARCH_LENGTH} chars!`);
  }
  if (bytesOf(searches.join(' ')) > MAX_SEARCH_LINE) {
    return warning(`Resolv.conf file '${path}' contains search line which length is more than allowed ${MAX_SEARCH_LINE} chars!`);
  }
  return undefined;
}
