import { booleanOption, PolicyOptionError } from './policy-options.ts';

export interface TopologyPolicyOptions {
  /** Among as many NUMA nodes, those nearest to one another. */
  preferClosest: boolean;
  /** More nodes than this refuse the start: hints grow as two to their number. */
  maxAllowableNumaNodes: number;
}

export const DEFAULT_MAX_NUMA_NODES = 8;
const Field = 'topologyManagerPolicyOptions';
const PreferClosest = 'prefer-closest-numa-nodes';
const MaxAllowable = 'max-allowable-numa-nodes';

/** Reads topologyManagerPolicyOptions. Throws PolicyOptionError. Source: contract node.md §6, vectors topology-merge. */
export function topologyPolicyOptions(given: Readonly<Record<string, string>>): TopologyPolicyOptions {
  const options: TopologyPolicyOptions = { preferClosest: false, maxAllowableNumaNodes: DEFAULT_MAX_NUMA_NODES };
  for (const [name, text] of Object.entries(given)) {
    if (name === PreferClosest) options.preferClosest = booleanOption(Field, name, text);
    else if (name === MaxAllowable) options.maxAllowableNumaNodes = nodeCount(text);
    else throw new PolicyOptionError(`${Field}[${name}]`, `there is no such option; there are ${PreferClosest}, ${MaxAllowable}`);
  }
  return options;
}

function nodeCount(text: string): number {
  const fault = (message: string) => new PolicyOptionError(`${Field}[${MaxAllowable}]`, message);
  if (!/^[+-]?\d{1,9}$/.test(text)) throw fault(`${JSON.stringify(text)} is not a whole number`);
  const count = Number(text);
  if (count < DEFAULT_MAX_NUMA_NODES) throw fault(`must be at least ${DEFAULT_MAX_NUMA_NODES}`);
  return count;
}
