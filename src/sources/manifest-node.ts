import type { ScalarValue } from '../config/plain-scalar.ts';

export interface Place {
  /** From 1. */
  line: number;
  column: number;
}

/**
 * One value of a manifest with its place. Whole numbers are bigints only beyond the safe range; a number of a JSON text
 * has its digits as they were written. Aliases share the node of their anchor; `size` counts what they expand to.
 */
export type ManifestNode = ScalarNode | ListNode | MapNode;

export interface ScalarNode extends Place {
  readonly kind: 'scalar';
  readonly value: ScalarValue;
  readonly digits?: string;
  readonly size: 1;
}
export interface ListNode extends Place {
  readonly kind: 'list';
  readonly items: ManifestNode[];
  size: number;
}
export interface MapNode extends Place {
  readonly kind: 'map';
  readonly entries: Map<string, { key: Place; value: ManifestNode }>;
  size: number;
  /** Of a JSON text: where the object begins and ends in it. */
  readonly span?: readonly [number, number];
}

/** A manifest's text as values. */
export interface ManifestTree {
  /** Undefined for a text that holds nothing. */
  root: ManifestNode | undefined;
  /** The JSON text that `span` refers to; undefined for YAML. */
  json: string | undefined;
}

/** What to do with a key that is given twice: the kubelet lets the last one count, we refuse it. */
export type DuplicateKeys = 'refuse' | 'last';

/** Beyond this no pod goes; what Kubernetes reads to 10000 levels is refused here. */
export const MaxNesting = 500;
