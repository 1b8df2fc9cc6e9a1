import type { Container, Pod, ResourceList } from '../../../src/api/types.ts';
import { containerOf, formatMap, metadataField, resourceField, splitSubscript } from '../../../src/sync/downward.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

export const check: Checker = (c) =>
  expectSame(c, () => {
    const ref = { resource: String(c.in['resource']), divisor: String(c.in['divisor'] ?? '') };
    switch (classOf(c)) {
      case 'field':
        return { value: metadataField(c.in['pod'] as Pod, String(c.in['fieldPath'])) };
      case 'map':
        return { text: formatMap(c.in['map'] as Record<string, string>) };
      case 'split': {
        const { path, subscript } = splitSubscript(String(c.in['fieldPath']));
        return { path, subscript: subscript ?? '', ok: subscript !== undefined };
      }
      case 'allocatable':
        return {
          value: resourceField(ref, containerOf(c.in['pod'] as Pod, String(c.in['container'])), c.in['nodeAllocatable'] as ResourceList),
        };
      default:
        return { value: resourceField(ref, c.in['container'] as Container) };
    }
  });
