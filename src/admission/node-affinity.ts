import type { Pod, StringMap } from '../api/types.ts';
import { wholeNumber } from './tolerations.ts';

interface Requirement {
  key: string;
  operator: string;
  values?: string[] | null;
}

interface NodeSelectorTerm {
  matchExpressions?: Requirement[] | null;
  matchFields?: Requirement[] | null;
}

/** The part of a node that a pod can choose by. */
export interface SelectableNode {
  name: string;
  labels: StringMap;
}

const Required = 'requiredDuringSchedulingIgnoredDuringExecution';

/**
 * Whether the node fits the pod's nodeSelector and required node affinity. `error` names what is wrong with a term
 * when no other term matches. Source: vectors tolerations-affinity.
 */
export function matchesNode(pod: Pod, node: SelectableNode): { match: boolean; error?: string } {
  const selected = Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) => labelOf(node.labels, key) === value);
  if (!selected) return { match: false };
  const affinity = pod.spec.affinity?.['nodeAffinity'] as Record<string, unknown> | null | undefined;
  const required = affinity?.[Required] as { nodeSelectorTerms?: NodeSelectorTerm[] | null } | null | undefined;
  if (required === undefined || required === null) return { match: true };
  const errors: string[] = [];
  for (const [index, term] of (required.nodeSelectorTerms ?? []).entries()) {
    const result = matchesTerm(term, node);
    if (result === true) return { match: true };
    if (typeof result === 'string') errors.push(`nodeSelectorTerms[${index}].${result}`);
  }
  return { match: false, ...(errors.length > 0 ? { error: errors.join('; ') } : {}) };
}

/** A text says what is wrong with the term. A term without any requirement matches nothing. */
function matchesTerm({ matchExpressions, matchFields }: NodeSelectorTerm, node: SelectableNode): boolean | string {
  const expressions = matchExpressions ?? [];
  const fields = matchFields ?? [];
  const results = [
    ...expressions.map((requirement, i) => [`matchExpressions[${i}]`, matchesLabel(requirement, node.labels)] as const),
    ...fields.map((requirement, i) => [`matchFields[${i}]`, matchesField(requirement, node)] as const),
  ];
  for (const [where, result] of results) if (typeof result === 'string') return `${where}.${result}`;
  return results.length > 0 && results.every(([, result]) => result === true);
}

function matchesLabel({ key, operator, values }: Requirement, labels: StringMap): boolean | string {
  const wanted = values ?? [];
  const value = labelOf(labels, key);
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (wanted.length === 0) return `values: ${operator} needs at least one value`;
      return (operator === 'In') === (value !== undefined && wanted.includes(value));
    case 'Exists':
    case 'DoesNotExist':
      if (wanted.length > 0) return `values: ${operator} takes no value`;
      return (operator === 'Exists') === (value !== undefined);
    case 'Gt':
    case 'Lt': {
      const bound = wholeNumber(wanted[0]);
      if (wanted.length !== 1) return `values: ${operator} takes exactly one value`;
      if (bound === undefined) return `values[0]: ${operator} needs a whole number, not ${JSON.stringify(wanted[0])}`;
      const actual = wholeNumber(value);
      return actual !== undefined && (operator === 'Gt' ? actual > bound : actual < bound);
    }
    default:
      return `operator: ${JSON.stringify(operator)} is none of In, NotIn, Exists, DoesNotExist, Gt, Lt`;
  }
}

function matchesField({ key, operator, values }: Requirement, node: SelectableNode): boolean | string {
  if (operator !== 'In' && operator !== 'NotIn') return `operator: ${JSON.stringify(operator)} is neither In nor NotIn`;
  if (values?.length !== 1) return 'values: a field takes exactly one value';
  // The only field of nodes that can be selected by; any other has no value.
  const value = key === 'metadata.name' ? node.name : '';
  return (operator === 'In') === (value === values[0]);
}

function labelOf(labels: StringMap, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
