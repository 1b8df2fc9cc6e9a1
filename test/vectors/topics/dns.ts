import type { Pod } from '../../../src/api/types.ts';
import { checkResolvConfLimits, type DnsEvent, parseResolvConf, podDns } from '../../../src/sync/dns.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

/** Where the recorded cases had their file, which shows in messages. */
const PATH = '/tmp/kts-vectors/resolv.conf';
const MISSING_PATH = '/tmp/kts-vectors/does-not-exist';

const line = (event: DnsEvent): string => `Warning ${event.reason} ${event.message}`;
const list = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

export const check: Checker = (c) =>
  expectSame(c, () => {
    const { resolvConf, clusterDomain } = c.in;
    const missing = resolvConf === '<missing>' ? new Error(`open ${MISSING_PATH}: no such file or directory`) : undefined;
    if (classOf(c) === 'check-limits') {
      const none = resolvConf === undefined ? new Error('open : no such file or directory') : undefined;
      const event = checkResolvConfLimits(missing ? MISSING_PATH : PATH, none ?? missing ?? String(resolvConf), String(clusterDomain));
      return { events: event ? [line(event)] : [] };
    }
    if (missing) throw missing;
    const { config, events } = podDns(c.in['pod'] as Pod, {
      host: typeof resolvConf === 'string' ? parseResolvConf(resolvConf) : undefined,
      nodeIPs: list(c.in['nodeIPs']),
      clusterDNS: list(c.in['clusterDNS']),
      clusterDomain: String(clusterDomain ?? ''),
    });
    return { ...config, options: config.options.toSorted(), events: events.map(line) };
  });
