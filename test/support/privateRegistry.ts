import { type Registry, startRegistry } from '../../scripts/images/registry.ts';
import { shellImage } from './registries.ts';

/** A registry on loopback with one image, `{host}/private/app:1`, which says PULLED, for those who log in at each request. */
export interface PrivateRegistry extends Registry {
  image: string;
}

export async function privateRegistry(login: { username: string; password: string }): Promise<PrivateRegistry> {
  const app = await shellImage('private/app:1', 'echo PULLED; exec /busybox sleep 3600');
  const registry = await startRegistry({ images: [app], login });
  return Object.assign(registry, { image: `${registry.host}/private/app:1` });
}
