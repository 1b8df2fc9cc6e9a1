import type { X509Certificate } from 'node:crypto';
import type { Random } from '../host/random.ts';

/** Part of its lifetime after which a certificate is replaced: somewhere between these (contract node.md §11). */
const EARLIEST = 0.7;
const SPREAD = 0.2;

export type Validity = Pick<X509Certificate, 'validFromDate' | 'validToDate'>;

/** When to ask for the next certificate, wall-clock milliseconds: a random moment, so that a cluster does not ask at once. */
export function rotationTime({ validFromDate, validToDate }: Validity, random: Random): number {
  const from = validFromDate.getTime();
  const lifetime = validToDate.getTime() - from;
  return from + lifetime * (EARLIEST + SPREAD * random.float());
}

/** True when a certificate holds at that moment. */
export function isValidAt({ validFromDate, validToDate }: Validity, now: number): boolean {
  return now >= validFromDate.getTime() && now < validToDate.getTime();
}
