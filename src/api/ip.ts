import { isIP } from 'node:net';

/** Leading zeros in IPv4 are let through (Kubernetes' "sloppy" reading). */
function canonicalV4(text: string): string | undefined {
  const trimmed = text.replace(/(?<![0-9])0+(?=[0-9])/g, '');
  return isIP(trimmed) === 4 ? trimmed : undefined;
}

/**
 * An address as Go prints it after reading; undefined where it is none. IPv6 is shortened, an IPv4 address written as
 * IPv6 (`::ffff:1.2.3.4`) becomes IPv4, and one with a zone is refused.
 */
export function canonicalIp(text: string): string | undefined {
  if (!text.includes(':')) return canonicalV4(text);
  if (text.includes('%') || isIP(text) !== 6) return undefined;
  // The URL reader gives the shortest form, in which a mapped address shows by its prefix and exactly two groups.
  const short = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short);
  if (mapped === null) return short;
  return mapped
    .slice(1)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((n) => [n >> 8, n & 255])
    .join('.');
}

/** The family of an address as Go sees it; undefined where it is none. */
export function ipFamily(text: string): 4 | 6 | undefined {
  const canonical = canonicalIp(text);
  if (canonical === undefined) return undefined;
  return canonical.includes(':') ? 6 : 4;
}
