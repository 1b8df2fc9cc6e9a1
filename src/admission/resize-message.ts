import type { Container, Pod } from '../api/types.ts';
import { goJson } from '../compat/go-json.ts';
import { goJsonString } from '../compat/go-text.ts';

/** The text of a resize event: what happened, and the resources it is about as JSON (contract: events.md §2). */
export function resizeMessage(what: string, pod: Pod, generation: number, error = ''): string {
  const parts: string[] = [];
  const { initContainers = [], containers } = pod.spec;
  if (initContainers.length > 0) parts.push(`"initContainers":${summary(initContainers)}`);
  if (containers.length > 0) parts.push(`"containers":${summary(containers)}`);
  parts.push(`"generation":${generation}`);
  if (error !== '') parts.push(`"error":${goJsonString(error)}`);
  return `${what}: {${parts.join(',')}}`;
}

/** Fields in the order that Go writes them. */
function summary(containers: readonly Container[]): string {
  const texts = containers.map(({ name, resources }) => {
    const fields = (['limits', 'requests', 'claims'] as const).flatMap((key) => {
      const value = resources?.[key];
      return value === undefined || value === null || Object.keys(value).length === 0 ? [] : [`"${key}":${goJson(value)}`];
    });
    return `{"name":${goJsonString(name)},"resources":{${fields.join(',')}}}`;
  });
  return `[${texts.join(',')}]`;
}
