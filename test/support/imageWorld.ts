import type { Container, Pod } from '../../src/api/types.ts';
import type { AuthConfig, Image, ImageSpec, PodSandboxConfig } from '../../src/cri/types.ts';
import { type ImageError, isImageError } from '../../src/images/image-error.ts';
import { ImageManager, type ImageManagerDeps } from '../../src/images/image-manager.ts';
import { emptyKeyring } from '../../src/images/keyring.ts';
import { SimClock } from '../sim/clock.ts';

export const sandboxConfig: PodSandboxConfig = {
  metadata: { name: 'p', uid: 'u', namespace: 'ns', attempt: 0 },
  portMappings: [],
  labels: {},
  annotations: {},
};

export const image = (id: string, size = 1000): Image => ({ id, repoTags: [], repoDigests: [], size, username: '', pinned: false });

/** For tests of src/images. A registry and a runtime in memory; `pull` and `inspect` may be replaced. */
export class World {
  readonly clock = new SimClock();
  readonly present = new Map<string, Image>();
  readonly events: string[] = [];
  readonly inspected: string[] = [];
  readonly pulled: { image: string; user: string | undefined; annotations: unknown }[] = [];
  readonly counted: unknown[] = [];
  inspect: (spec: ImageSpec) => Promise<Image | undefined> = async (spec) => this.present.get(spec.image);
  pull: (spec: ImageSpec, auth?: AuthConfig, signal?: AbortSignal) => Promise<string> = async (spec) => {
    this.present.set(spec.image, image(`sha256:${spec.image}`));
    return `sha256:${spec.image}`;
  };

  manager(more: Partial<ImageManagerDeps> = {}): ImageManager {
    return new ImageManager({
      images: {
        imageStatus: (spec) => {
          this.inspected.push(spec.image);
          return this.inspect(spec);
        },
        pullImage: (spec, credential, _sandbox, opts) => {
          this.pulled.push({ image: spec.image, user: credential?.username, annotations: spec.annotations });
          return this.pull(spec, credential, opts?.signal);
        },
      },
      keyring: emptyKeyring,
      clock: this.clock,
      events: {
        event: (object, type, reason, message) => void this.events.push(`${object.fieldPath ?? '-'} ${type} ${reason} ${message}`),
      },
      metrics: {
        pulled: (seconds, size) => void this.counted.push(['pulled', seconds, size]),
        ensured: (...args) => void this.counted.push(args),
      },
      limits: { serial: true, maxParallel: undefined, qps: 0, burst: 0 },
      verifyCredentials: true,
      ...more,
    });
  }
}

/** What `ensureImage` takes, for the one pod and container of these tests. */
export function request(imageName: string, policy?: Container['imagePullPolicy'], uid = 'u', signal = new AbortController().signal) {
  const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid, annotations: { a: 'b' } }, spec: { containers: [] } };
  const container = policy === undefined ? { image: imageName } : { image: imageName, imagePullPolicy: policy };
  return { pod, container, fieldPath: 'spec.containers{c}', sandboxConfig, signal };
}

/** The ImageError that `work` rejects with. */
export async function refusal(work: Promise<unknown>): Promise<ImageError> {
  try {
    await work;
  } catch (err) {
    if (isImageError(err)) return err;
    throw err;
  }
  throw new Error('the image was given');
}
