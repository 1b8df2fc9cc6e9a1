import type { KubeObject } from './api.ts';
import { type KubeError, kubeErrorFrom, recordOf } from './errors.ts';

/** Marks the bookmark that ends a streaming list. */
const InitialEventsEnd = 'k8s.io/initial-events-end';

export type WatchEvent =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: KubeObject; resourceVersion: string }
  | { type: 'BOOKMARK'; resourceVersion: string; initialEventsEnd: boolean }
  | { type: 'ERROR'; error: KubeError };

/** One line of a watch, checked as far as we rely on it; undefined for what makes no sense. */
export function watchEvent(value: unknown, operation: string): WatchEvent | undefined {
  const event = recordOf(value);
  const object = event?.['object'];
  if (event?.['type'] === 'ERROR') {
    const code = recordOf(object)?.['code'];
    return { type: 'ERROR', error: kubeErrorFrom(operation, typeof code === 'number' ? code : 500, object) };
  }
  const metadata = recordOf(recordOf(object)?.['metadata']);
  const resourceVersion = metadata?.['resourceVersion'];
  if (metadata === undefined || typeof resourceVersion !== 'string' || resourceVersion === '') return undefined;
  switch (event?.['type']) {
    case 'BOOKMARK':
      return {
        type: 'BOOKMARK',
        resourceVersion,
        initialEventsEnd: recordOf(metadata['annotations'])?.[InitialEventsEnd] === 'true',
      };
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return isKubeObject(object) ? { type: event['type'], object, resourceVersion } : undefined;
    default:
      return undefined;
  }
}

/** An object with a name. */
export function isKubeObject(value: unknown): value is KubeObject {
  const metadata = recordOf(recordOf(value)?.['metadata']);
  return typeof metadata?.['name'] === 'string' && metadata['name'] !== '';
}
