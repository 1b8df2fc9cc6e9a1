import type { Container, Pod, ResourceList, ResourceRequirements } from '../api/types.ts';
import { fnv1aHash64 } from './fnv.ts';
import { goQuantity } from './go-quantity.ts';

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * A quantity as Go's `%v` prints the struct. Where Go holds a big decimal it prints a pointer, which differs in every
 * process; ours puts the number there.
 */
function quantityText(source: string): string {
  const { value, scale, dec, text, format } = goQuantity(String(source));
  return `{{${value} ${scale}} {${dec ? `${dec.unscaled}e${-dec.scale}` : '<nil>'}} ${text} ${format}}`;
}

function listText(list: ResourceList | undefined): string {
  const entries = Object.entries(list ?? {}).toSorted(([a], [b]) => byBytes(a, b));
  return `ResourceList{${entries.map(([name, quantity]) => `${name}: ${quantityText(quantity)},`).join('')}}`;
}

/** Go's ResourceRequirements.String(). */
export function resourceRequirementsText(resources: ResourceRequirements | null | undefined): string {
  const claims = (resources?.claims ?? []).map(({ name, request = '' }) => `ResourceClaim{Name:${name},Request:${request},},`);
  return `&ResourceRequirements{Limits:${listText(resources?.limits)},Requests:${listText(resources?.requests)},Claims:[]ResourceClaim{${claims.join('')}},}`;
}

/** The text behind the key: any change of it starts a container's back-off anew. */
export function backoffKeyText(pod: Pick<Pod, 'metadata'>, container: Container): string {
  const { name = '', namespace = '', uid = '' } = pod.metadata;
  return [name, namespace, uid, container.name, container.image ?? '', resourceRequirementsText(container.resources)].join('/');
}

/** The name of a container's restart back-off: 64-bit FNV-1a in lower-case hex. Source: vectors log-paths. */
export function backoffKey(pod: Pick<Pod, 'metadata'>, container: Container): string {
  return fnv1aHash64(backoffKeyText(pod, container)).toString(16);
}
