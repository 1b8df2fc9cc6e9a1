import { Quantity } from '../api/quantity.ts';
import type { Container, Pod, ResourceList } from '../api/types.ts';
import { compareGoStrings, goQuote } from '../compat/go-text.ts';
import { qualifiedNameFault } from './names.ts';

/** A downward reference that names nothing the kubelet can give. */
export class DownwardError extends Error {
  readonly code = 'unsupported-field';
  constructor(message: string) {
    super(message);
    this.name = 'DownwardError';
  }
}

/** The divisible resources; hugepages come by their prefix. An unset limit of these three is the node's allocatable. */
const Divisible = new Set(['cpu', 'memory', 'ephemeral-storage']);
const HugepagesPrefix = 'hugepages-';

/** A map as a downward file shows it: one `key="value"` a line, sorted, no newline at the end. */
export function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  const entries = Object.entries(map ?? {}).sort(([a], [b]) => compareGoStrings(a, b));
  return entries.map(([key, value]) => `${key}=${goQuote(value)}`).join('\n');
}

/** Splits `metadata.labels['key']` into path and key. Without a subscript, or with nothing before it, there is no key. */
export function splitSubscript(fieldPath: string): { path: string; subscript?: string } {
  const open = fieldPath.endsWith("']") ? fieldPath.slice(0, -2).indexOf("['") : -1;
  if (open <= 0) return { path: fieldPath };
  return { path: fieldPath.slice(0, open), subscript: fieldPath.slice(open + 2, -2) };
}

/** The value of a metadata field. Throws DownwardError for any other field. Source: vectors downward-fields. */
export function metadataField(pod: Pod, fieldPath: string): string {
  const { path, subscript } = splitSubscript(fieldPath);
  const { labels, annotations, name, namespace, uid } = pod.metadata;
  if (subscript !== undefined) {
    if (path !== 'metadata.labels' && path !== 'metadata.annotations') {
      throw new DownwardError(`fieldPath ${JSON.stringify(fieldPath)} takes no subscript`);
    }
    // Annotation keys may have upper case in the prefix.
    const fault = qualifiedNameFault(path === 'metadata.annotations' ? subscript.toLowerCase() : subscript);
    if (fault !== undefined) throw new DownwardError(`invalid key in fieldPath ${JSON.stringify(fieldPath)}: ${fault}`);
    const map = (path === 'metadata.labels' ? labels : annotations) ?? {};
    return Object.hasOwn(map, subscript) ? (map[subscript] ?? '') : '';
  }
  switch (fieldPath) {
    case 'metadata.name':
      return name;
    case 'metadata.namespace':
      return namespace;
    case 'metadata.uid':
      return uid;
    case 'metadata.labels':
      return formatMap(labels);
    case 'metadata.annotations':
      return formatMap(annotations);
    default:
      throw new DownwardError(`unsupported fieldPath ${JSON.stringify(fieldPath)}`);
  }
}

/** What a resource field needs besides the pod. */
export interface ResourceFieldRef {
  resource: string;
  divisor?: string;
}

/**
 * `limits.cpu` and its like of a container, divided and rounded up. With `allocatable`, an unset or zero limit of
 * CPU, memory or ephemeral storage is the node's. Throws DownwardError for a resource that cannot be asked for.
 */
export function resourceField(ref: ResourceFieldRef, container: Container, allocatable?: ResourceList): string {
  const dot = ref.resource.indexOf('.');
  const kind = ref.resource.slice(0, Math.max(0, dot));
  const name = ref.resource.slice(dot + 1);
  if ((kind !== 'limits' && kind !== 'requests') || !(Divisible.has(name) || name.startsWith(HugepagesPrefix))) {
    throw new DownwardError(`unsupported container resource ${JSON.stringify(ref.resource)}`);
  }
  let quantity = quantityOf(container.resources?.[kind], name);
  if (kind === 'limits' && quantity.isZero() && Divisible.has(name)) quantity = quantityOf(allocatable, name);
  return divide(quantity, ref.divisor, name === 'cpu').toString();
}

/** The container of that name, an init container's too. Throws DownwardError when the pod has none. */
export function containerOf(pod: Pod, name: string): Container {
  const found = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((container) => container.name === name);
  if (found === undefined) throw new DownwardError(`container ${name} not found`);
  return found;
}

function quantityOf(list: ResourceList | undefined, name: string): Quantity {
  const text = list !== undefined && Object.hasOwn(list, name) ? list[name] : undefined;
  return text === undefined ? Quantity.zero : Quantity.fromJson(text);
}

/** Rounded up, in thousandths for CPU and in whole units otherwise. An empty or zero divisor is 1. */
function divide(quantity: Quantity, divisorText: string | undefined, milli: boolean): bigint {
  let divisor = divisorText === undefined || divisorText === '' ? Quantity.zero : Quantity.fromJson(divisorText);
  if (divisor.isZero()) divisor = Quantity.of(1);
  const [a, b] = milli ? [quantity.milliValue(), divisor.milliValue()] : [quantity.value(), divisor.value()];
  const whole = a / b;
  return a % b !== 0n && a > 0n === b > 0n ? whole + 1n : whole;
}
