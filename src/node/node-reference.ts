import type { EventObject } from '../observe/events.ts';

/** What events about the node name; the UID is looked up each time, being known only later (contract: events.md §3). */
export function nodeReference(name: string, uid: () => string): EventObject {
  return {
    kind: 'Node',
    namespace: '',
    name,
    get uid() {
      return uid();
    },
  };
}
