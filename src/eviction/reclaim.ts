import type { RuntimeDisks } from './ranking.ts';
import type { Signal } from './thresholds.ts';

/** What the node can give up before a pod has to go. */
export type NodeReclaim = 'dead containers' | 'unused images';

const Both: readonly NodeReclaim[] = ['dead containers', 'unused images'];

/** What to give up for a signal, in order; by what lies on the file system that is full. Source: contract node.md §3. */
export function nodeReclaim(signal: Signal, { imageFs, splitImageFs }: RuntimeDisks): readonly NodeReclaim[] {
  const [fs = ''] = signal.split('.');
  if (!['nodefs', 'imagefs', 'containerfs'].includes(fs)) return [];
  if (splitImageFs) return fs === 'imagefs' ? ['unused images'] : ['dead containers'];
  return imageFs && fs === 'nodefs' ? [] : Both;
}
