import { isIP } from 'node:net';

/**
 * The family of an address as Go sees it: an IPv4 address written as IPv6 (`::ffff:1.2.3.4`) is IPv4, one with a zone
 * is no address, leading zeros in IPv4 are let through (Kubernetes' "sloppy" reading). Undefined for anything else.
 */
export function ipFamily(text: string): 4 | 6 | undefined {
  if (text.includes('%')) return undefined;
  const family = isIP(text.includes(':') ? text : text.replace(/(?<![0-9])0+(?=[0-9])/g, ''));
  if (family !== 6) return family === 4 ? 4 : undefined;
  // The URL reader gives the shortest form, in which a mapped address shows by its prefix and exactly two groups.
  const short = new URL(`http://[${text}]`).hostname;
  return /^\[::ffff:[0-9a-f]+:[0-9a-f]+\]$/.test(short) ? 4 : 6;
}
