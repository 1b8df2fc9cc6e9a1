import type { Container } from '../api/types.ts';
import { fnv1aHash32 } from './fnv.ts';

const encoder = new TextEncoder();

/** Go's encoding/json text of a string: as JSON.stringify, but with `<`, `>`, `&`, U+2028 and U+2029 escaped, and U+FFFD for lone surrogates. */
function goJsonString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(/[<>&\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The two fields of a container that a restart depends on, as the JSON the kubelet hashes. */
export function containerHashJson(container: Pick<Container, 'name' | 'image'>): string {
  return `{"image":${goJsonString(container.image ?? '')},"name":${goJsonString(container.name)}}`;
}

/** The exact text that is hashed: the JSON's bytes as a Go value dump prints them. */
export function containerHashedText(container: Pick<Container, 'name' | 'image'>): string {
  return `([]uint8)[${encoder.encode(containerHashJson(container)).join(' ')}]`;
}

/**
 * The hash by which the kubelet knows that a container's definition changed: 32-bit FNV-1a, unsigned. Only name and
 * image count. Source: vectors container-hash.
 */
export function containerHash(container: Pick<Container, 'name' | 'image'>): number {
  return fnv1aHash32(containerHashedText(container));
}

/** The hash as the label and annotation `io.kubernetes.container.hash` carry it: lower-case hex without leading zeros. */
export function containerHashHex(container: Pick<Container, 'name' | 'image'>): string {
  return containerHash(container).toString(16);
}
