import { cleanPath } from '../api/path.ts';
import type { Container, Pod } from '../api/types.ts';
import { openBeneath } from '../host/safe-path.ts';

/**
 * Paths, below the root of a volume, where a container mounts another of its volumes: `/dir/a` within a volume at `/dir`.
 * Only the outermost ones. A place that the volume has a file for needs none.
 */
export function nestedMountPoints(pod: Pod, volume: string, payload: ReadonlyMap<string, unknown>): string[] {
  const files = new Set([...payload.keys()].map((path) => path.split('/').filter((part) => part !== '')[0]));
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const found = new Set([...initContainers, ...containers, ...ephemeralContainers].flatMap((c) => nestedIn(c, volume)));
  return [...found].filter((path) => !files.has(path.split('/')[0]) && !path.startsWith('..')).sort();
}

function nestedIn(container: Container, volume: string): string[] {
  const mounts = container.volumeMounts ?? [];
  const paths = mounts.map((mount) => absolute(mount.mountPath)).sort();
  return mounts
    .filter((mount) => mount.name === volume && !mount.subPath && !mount.subPathExpr)
    .flatMap((mount) => {
      const own = absolute(mount.mountPath);
      const prefix = own === '/' ? '/' : `${own}/`;
      const nested: string[] = [];
      for (const path of paths) {
        if (path === own || !path.startsWith(prefix) || nested.some((outer) => path === outer || path.startsWith(`${outer}/`))) continue;
        nested.push(path);
      }
      return nested.map((path) => path.slice(prefix.length));
    });
}

/** Makes them: the container cannot, its volume is read-only. */
export async function makeNestedMountPoints(pod: Pod, volume: string, dir: string, payload: ReadonlyMap<string, unknown>): Promise<void> {
  for (const path of nestedMountPoints(pod, volume, payload)) {
    const held = await openBeneath(dir, path, { create: 0o755 });
    await held.close();
  }
}

function absolute(path: string): string {
  return cleanPath(path.startsWith('/') ? path : `/${path}`);
}
