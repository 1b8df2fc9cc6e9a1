import { qualifiedNameFaults } from './names.ts';
import { Quantity, QuantityError } from './quantity.ts';

/** What a resource's name says about it. Source: vectors node-labels (class resource). */

const HUGE_PAGES = 'hugepages-';

export function isPrefixedNativeResource(name: string): boolean {
  return name.includes('kubernetes.io/');
}

/** Kubernetes' own: without a prefix, or under kubernetes.io. */
export function isNativeResource(name: string): boolean {
  return !name.includes('/') || isPrefixedNativeResource(name);
}

/** A resource of a third party, such as a device. */
export function isExtendedResource(name: string): boolean {
  return !isNativeResource(name) && !name.startsWith('requests.') && qualifiedNameFaults(`requests.${name}`).length === 0;
}

export function isHugePageResource(name: string): boolean {
  return name.startsWith(HUGE_PAGES);
}

/** Plain memory and huge pages: what the memory manager gives out. */
export function isMemoryResource(name: string): boolean {
  return name === 'memory' || isHugePageResource(name);
}

/** The page size of a huge page resource in bytes; undefined where there is none to be read. */
export function hugePageSize(name: string): bigint | undefined {
  if (!isHugePageResource(name)) return undefined;
  try {
    return Quantity.parse(name.slice(HUGE_PAGES.length)).value();
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

/** Whether limits may add up to more than the node has. */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePageResource(name);
}

export function isAttachableVolumeResource(name: string): boolean {
  return name.startsWith('attachable-volumes-');
}
