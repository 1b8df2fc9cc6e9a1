import { nothingObserved, type Observer } from '../pleg/observer.ts';
import type { Relist } from '../pleg/relist.ts';
import type { PodObserver } from '../pods/ports.ts';

/** Looks at pods; one that a complete list does not have is known to be absent without another question. */
export function podObserverOf(observer: Observer, relist: () => Pick<Relist, 'listedAt' | 'records'>): PodObserver {
  return {
    observe: (uid, signal) => observer.observe(uid, signal),
    update: (previous, made, signal) => observer.update(previous, made, signal),
    first: (uid, signal) => {
      const listedAt = relist().listedAt();
      if (listedAt === undefined || relist().records().has(uid)) return observer.observe(uid, signal);
      return Promise.resolve(nothingObserved(uid, listedAt));
    },
  };
}
