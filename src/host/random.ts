import { randomBytes } from 'node:crypto';

/** Randomness as a port, so that a simulated run repeats from its seed. */
export interface Random {
  /** Uniform in [0, 1). */
  float(): number;
  /** `n` random bytes as lower-case hexadecimal (2n characters). */
  hex(n: number): string;
}

export const systemRandom: Random = {
  float: () => Math.random(),
  hex: (n) => randomBytes(n).toString('hex'),
};

/** A duration with Kubernetes' jitter: uniform in [ms, ms * (1 + factor)). */
export function jitter(random: Random, ms: number, factor: number): number {
  return ms + ms * factor * random.float();
}
