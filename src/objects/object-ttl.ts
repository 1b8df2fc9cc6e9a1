/** By this the cluster tells its nodes how long they may keep objects without asking, in seconds. */
export const ObjectTtlAnnotation = 'node.alpha.kubernetes.io/ttl';

const DefaultMs = 60_000;

/** Milliseconds, from the annotations of the node's object; a minute where they say nothing (contract node.md §10). */
export function objectTtlMs(annotations: Readonly<Record<string, string>> | undefined): number {
  const text = annotations?.[ObjectTtlAnnotation] ?? '';
  return /^[+-]?\d{1,9}$/.test(text) ? Math.max(0, Number(text)) * 1000 : DefaultMs;
}
