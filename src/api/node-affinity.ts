import { matchesRequirement, type RequirementFault, requirementFaults, type SelectorOperator } from './label-selector.ts';
import type { Pod, StringMap } from './types.ts';

/** Which nodes a pod wants: nodeSelector and required node affinity. Source: vectors tolerations-affinity. */

interface Expression {
  key: string;
  operator: string;
  values: string[];
}

interface NodeOfAffinity {
  metadata: { name?: string; labels?: StringMap };
}

export interface AffinityFault {
  /** As `nodeSelectorTerms[0].matchExpressions[0].operator`. */
  path: string;
  rule: string;
}

export interface AffinityMatch {
  match: boolean;
  /** Of terms that cannot be read, where no other term matched. */
  faults: AffinityFault[];
}

const OPERATORS = new Map<string, SelectorOperator>([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
  ['Gt', '>'],
  ['Lt', '<'],
]);

const record = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function expressions(value: unknown): Expression[] {
  return list(value).map((item) => {
    const { key, operator, values } = record(item);
    return { key: String(key ?? ''), operator: String(operator ?? ''), values: list(values).map(String) };
  });
}

type Outcome = boolean | RequirementFault[];

function matchLabels({ key, operator, values }: Expression, labels: StringMap): Outcome {
  const known = OPERATORS.get(operator);
  if (known === undefined) return [{ field: 'operator', rule: `must be one of ${[...OPERATORS.keys()].join(', ')}` }];
  const requirement = { key, operator: known, values };
  const faults = requirementFaults(requirement);
  return faults.length > 0 ? faults : matchesRequirement(requirement, labels);
}

/** The only field is the node's name; a node without one is not asked. */
function matchField({ key, operator, values }: Expression, nodeName: string): Outcome {
  if (operator !== 'In' && operator !== 'NotIn') return [{ field: 'operator', rule: 'must be In or NotIn' }];
  const [value = ''] = values;
  if (values.length !== 1) return [{ field: 'values', rule: 'must have one element' }];
  if (nodeName === '') return true;
  const actual = key === 'metadata.name' ? nodeName : '';
  return (actual === value) === (operator === 'In');
}

function matchTerm(term: unknown, path: string, node: NodeOfAffinity): AffinityMatch {
  const { matchExpressions, matchFields } = record(term);
  const labels = node.metadata.labels ?? {};
  const outcomes = [
    ...expressions(matchExpressions).map((e, i) => ({ at: `${path}.matchExpressions[${i}]`, outcome: matchLabels(e, labels) })),
    ...expressions(matchFields).map((e, i) => ({ at: `${path}.matchFields[${i}]`, outcome: matchField(e, node.metadata.name ?? '') })),
  ];
  const faults = outcomes.flatMap(({ at, outcome }) =>
    typeof outcome === 'boolean' ? [] : outcome.map(({ field, rule }) => ({ path: `${at}.${field}`, rule })),
  );
  // A term without any requirement selects no node.
  return { match: outcomes.length > 0 && outcomes.every(({ outcome }) => outcome === true), faults };
}

/** Whether the pod may run on the node by its nodeSelector and its required node affinity: one term must match. */
export function matchesNodeAffinity(pod: Pick<Pod, 'spec'>, node: NodeOfAffinity): AffinityMatch {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return { match: false, faults: [] };
  }
  const required = record(pod.spec.affinity?.['nodeAffinity'])['requiredDuringSchedulingIgnoredDuringExecution'];
  if (required === undefined || required === null) return { match: true, faults: [] };
  return matchesNodeSelector(required, node);
}

/** Whether one term of a NodeSelector matches the node. */
export function matchesNodeSelector(selector: unknown, node: NodeOfAffinity): AffinityMatch {
  const faults: AffinityFault[] = [];
  for (const [i, term] of list(record(selector)['nodeSelectorTerms']).entries()) {
    const result = matchTerm(term, `nodeSelectorTerms[${i}]`, node);
    if (result.match) return { match: true, faults: [] };
    faults.push(...result.faults);
  }
  return { match: false, faults };
}
