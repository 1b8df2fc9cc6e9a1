import { booleanOption, PolicyOptionError } from './policy-options.ts';

/** Options of the static policy, all off unless given. */
export interface StaticPolicyOptions {
  /** Whole cores only: a request that is no multiple of a core's CPUs is refused. */
  fullPhysicalCpusOnly: boolean;
  /** Spread over NUMA nodes evenly where one does not suffice. */
  distributeAcrossNuma: boolean;
  /** A socket's CPUs count as near to one another, whatever its NUMA nodes. */
  alignBySocket: boolean;
  /** One CPU of each core before the second of any. */
  distributeAcrossCores: boolean;
  /** Reserved CPUs are in no pod's reach, not in the shared pool either. */
  strictReservation: boolean;
  /** Keep a container within one cache of the last level where that can be had. */
  preferUncoreCache: boolean;
}

type Maturity = 'alpha' | 'beta' | 'stable';

const Field = 'cpuManagerPolicyOptions';
const Known: Readonly<Record<string, { key: keyof StaticPolicyOptions; maturity: Maturity }>> = {
  'full-pcpus-only': { key: 'fullPhysicalCpusOnly', maturity: 'stable' },
  'strict-cpu-reservation': { key: 'strictReservation', maturity: 'stable' },
  'prefer-align-cpus-by-uncorecache': { key: 'preferUncoreCache', maturity: 'stable' },
  'distribute-cpus-across-numa': { key: 'distributeAcrossNuma', maturity: 'beta' },
  'align-by-socket': { key: 'alignBySocket', maturity: 'alpha' },
  'distribute-cpus-across-cores': { key: 'distributeAcrossCores', maturity: 'alpha' },
};
const Excluded: readonly [string, string][] = [
  ['full-pcpus-only', 'distribute-cpus-across-cores'],
  ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
  ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
];
const Gates: Readonly<Record<Exclude<Maturity, 'stable'>, string>> = {
  alpha: 'CPUManagerPolicyAlphaOptions',
  beta: 'CPUManagerPolicyBetaOptions',
};

/** Reads cpuManagerPolicyOptions. Throws PolicyOptionError. Source: contract node.md §5, vectors cpu-static-policy. */
export function staticPolicyOptions(given: Readonly<Record<string, string>>, isEnabled: (gate: string) => boolean): StaticPolicyOptions {
  const options: StaticPolicyOptions = {
    fullPhysicalCpusOnly: false,
    distributeAcrossNuma: false,
    alignBySocket: false,
    distributeAcrossCores: false,
    strictReservation: false,
    preferUncoreCache: false,
  };
  for (const [name, text] of Object.entries(given)) {
    const known = Object.hasOwn(Known, name) ? Known[name] : undefined;
    if (known === undefined)
      throw new PolicyOptionError(`${Field}[${name}]`, `there is no such option; there are ${Object.keys(Known).join(', ')}`);
    if (known.maturity !== 'stable' && !isEnabled(Gates[known.maturity])) {
      throw new PolicyOptionError(
        `${Field}[${name}]`,
        `this option is ${known.maturity}; set featureGates.${Gates[known.maturity]}: true to use it`,
      );
    }
    options[known.key] = booleanOption(Field, name, text);
  }
  const isSet = (name: string) => options[(Known[name] ?? { key: 'alignBySocket' as const }).key];
  for (const [a, b] of Excluded) {
    if (isSet(a) && isSet(b)) throw new PolicyOptionError(Field, `${a} and ${b} cannot be used at the same time; switch one of them off`);
  }
  return options;
}
