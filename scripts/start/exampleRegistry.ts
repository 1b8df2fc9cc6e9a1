import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { staticBusybox } from '../images/exampleImages.ts';
import { type Registry, startRegistry } from '../images/registry.ts';

/** The registry's name in the references of pods. */
const NAME = 'private.registry.local';

/** A private registry on loopback, and what containerd and the agent must know to pull from it. */
export interface ExampleRegistry {
  registry: Registry;
  /** For containerd: where the registry is. */
  registries: Record<string, string>;
  /** For the agent: the docker configuration with the login, made up for this run. */
  dockerConfig: object;
}

/** Has `private.registry.local/greeter:1` for the pod of examples/manifests/private.yaml. */
export async function exampleRegistry(): Promise<ExampleRegistry> {
  const login = { username: 'example', password: randomBytes(12).toString('hex') };
  const busybox = await readFile(await staticBusybox());
  const script = 'echo "this image came from a private registry"; exec /busybox sleep 1000000';
  const greeter = {
    reference: 'greeter:1',
    files: [{ kind: 'file', name: 'busybox', mode: 0o755, data: busybox } as const],
    config: { Cmd: ['/busybox', 'sh', '-c', script], User: '65534:65534' },
  };
  const registry = await startRegistry({ images: [greeter], login });
  const auth = Buffer.from(`${login.username}:${login.password}`).toString('base64');
  return { registry, registries: { [NAME]: `http://${registry.host}` }, dockerConfig: { auths: { [NAME]: { auth } } } };
}
