import type { ObservedPod } from '../pleg/types.ts';
import type { Group } from './group.ts';

const nobody = { podUid: '', pod: '', namespace: '', container: '', id: '', image: '' };

/** A group of the machine or of the node. */
export function plainGroup(kind: 'root' | 'node' | 'system' | 'qos', path: string): Group {
  return { ...nobody, kind, path };
}

/** `cri-containerd-ID.scope`, `crio-ID.scope` and a plain ID are one container's group. */
export function containerIdOf(name: string): string {
  return name.replace(/\.scope$/, '').replace(/^.*-/, '');
}

const milliseconds = (nanoseconds: bigint) => Number(nanoseconds / 1_000_000n);

/** A pod's group, and those below it that are its running containers and ready sandboxes. */
export function podGroups(
  path: string,
  uid: string,
  children: readonly string[],
  pod: ObservedPod | undefined,
  sandboxImage: string,
): Group[] {
  const ref = { podUid: uid, pod: pod?.name ?? '', namespace: pod?.namespace ?? '' };
  const newest = pod?.sandboxes[0];
  const created = newest === undefined ? {} : { createdAtMs: milliseconds(newest.createdAt) };
  const own: Group = { ...nobody, ...ref, kind: 'pod', path, ...created };
  const below = children.flatMap((name): Group[] => {
    const id = containerIdOf(name);
    const there = { ...nobody, ...ref, id, path: `${path}/${name}` };
    const sandbox = pod?.sandboxes.find((s) => s.id === id && s.state === 'ready');
    if (sandbox !== undefined) return [{ ...there, kind: 'sandbox', image: sandboxImage, createdAtMs: milliseconds(sandbox.createdAt) }];
    const container = pod?.containers.find((c) => c.id === id && c.state === 'running');
    if (container === undefined) return [];
    const { status } = container;
    return [
      {
        ...there,
        kind: 'container',
        container: container.name,
        image: status.image.image,
        createdAtMs: milliseconds(status.createdAt),
        startedAtMs: milliseconds(status.startedAt),
      },
    ];
  });
  return [own, ...below];
}
