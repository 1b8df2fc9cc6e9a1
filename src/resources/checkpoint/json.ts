import { CheckpointContentError } from './errors.ts';

/** Reading of checkpoint files, which anybody may have written. Each throws CheckpointContentError. */

export type Fields = Readonly<Record<string, unknown>>;

export function parseFields(text: string, what: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (err) {
    throw new CheckpointContentError(`${what} is not JSON: ${err instanceof Error ? err.message : String(err)}`);
  }
  return fieldsOf(value, what);
}

export function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw new CheckpointContentError(`${what} is not an object`);
}

export function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined;
}

/** A text; empty where it is missing. */
export function textOf(fields: Fields, name: string): string {
  const value = own(fields, name) ?? '';
  if (typeof value === 'string') return value;
  throw new CheckpointContentError(`its field ${name} is not a text`);
}

/** A whole number that is not negative; 0 where it is missing. */
export function countOf(fields: Fields, name: string): number {
  const value = own(fields, name) ?? 0;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0) return value;
  throw new CheckpointContentError(`its field ${name} is not a whole number`);
}

/** A map of maps, as entries by pod and container; empty where it is missing. */
export function byPodAndContainer<T>(
  fields: Fields,
  name: string,
  read: (value: unknown, where: string) => T,
): Map<string, Map<string, T>> {
  const pods = new Map<string, Map<string, T>>();
  for (const [pod, containers] of Object.entries(fieldsOf(own(fields, name) ?? {}, `its field ${name}`))) {
    const entries = Object.entries(fieldsOf(containers ?? {}, `its field ${name}[${pod}]`));
    pods.set(pod, new Map(entries.map(([container, value]) => [container, read(value, `container ${container} of pod ${pod}`)])));
  }
  return pods;
}
