import type { Image } from '../cri/types.ts';
import type { NodeStatus } from '../kube/types.ts';

const MaxNames = 5;

/** The images of the node's status: the largest first, at most `max` (-1: all), each with five names, digests first. */
export function reportedImages(images: readonly Image[], max: number): NonNullable<NodeStatus['images']> {
  const sorted = images.toSorted((a, b) => b.size - a.size || (a.id < b.id ? -1 : 1));
  return (max < 0 ? sorted : sorted.slice(0, max)).map(({ repoDigests, repoTags, size }) => {
    const names = [...repoDigests, ...repoTags].slice(0, MaxNames);
    // As the server gives it back, to which an empty list is none.
    return { ...(names.length === 0 ? {} : { names }), ...(size === 0 ? {} : { sizeBytes: size }) };
  });
}
