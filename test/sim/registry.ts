import { createHash } from 'node:crypto';
import type { Image, ImageSpec } from '../../src/cri/types.ts';

/** How a registry answers for one image. */
export interface RegistryEntry {
  /** Milliseconds of a pull; drawn from the seed when missing. */
  pullMs?: number;
  /** Bytes. */
  size?: number;
  /** The pull fails with this text: `absent` is a registry's 404. */
  fails?: 'absent' | { message: string };
  /** Fails so many times, then works. */
  failures?: number;
  /** `USER` of the image. */
  user?: string;
}

/** The full name of an image as containerd writes it: domain, path and tag or digest. */
export function normalizeImage(ref: string): string {
  if (ref.startsWith('sha256:')) return ref;
  const slash = ref.indexOf('/');
  const first = slash < 0 ? '' : ref.slice(0, slash);
  const hasDomain = first.includes('.') || first.includes(':') || first === 'localhost';
  const full = hasDomain ? ref : `docker.io/${slash < 0 ? `library/${ref}` : ref}`;
  const name = full.slice(full.lastIndexOf('/') + 1);
  return name.includes(':') || name.includes('@') ? full : `${full}:latest`;
}

/**
 * The images a node can pull and those it has. A name that is not scripted can be pulled, unless its path holds
 * `missing`.
 */
export class SimRegistry {
  #entries = new Map<string, RegistryEntry>();
  #failed = new Map<string, number>();
  /** Local images by id. */
  readonly local = new Map<string, Image>();

  /** Scripts the registry's answer for an image. */
  set(ref: string, entry: RegistryEntry): void {
    this.#entries.set(normalizeImage(ref), entry);
  }

  entry(ref: string): RegistryEntry {
    return this.#entries.get(normalizeImage(ref)) ?? {};
  }

  /** Why a pull fails now; undefined when it works. Counts the failures. */
  refusal(ref: string): { code: 'NotFound' | 'Unknown'; message: string } | undefined {
    const name = normalizeImage(ref);
    const entry = this.entry(ref);
    const fails = entry.fails ?? (name.includes('missing') ? 'absent' : undefined);
    if (fails === 'absent') {
      return {
        code: 'NotFound',
        message: `failed to pull and unpack image "${name}": failed to resolve reference "${name}": ${name}: not found`,
      };
    }
    if (fails) return { code: 'Unknown', message: fails.message };
    const so = this.#failed.get(name) ?? 0;
    if (so < (entry.failures ?? 0)) {
      this.#failed.set(name, so + 1);
      return { code: 'Unknown', message: `failed to pull and unpack image "${name}": dial tcp 192.0.2.1:443: i/o timeout` };
    }
    return undefined;
  }

  /** Puts an image on the node. */
  add(ref: string): Image {
    const name = normalizeImage(ref);
    const id = `sha256:${createHash('sha256').update(name).digest('hex')}`;
    const entry = this.entry(ref);
    const at = name.lastIndexOf(':');
    const repository = name.includes('@') ? name.slice(0, name.indexOf('@')) : name.slice(0, at);
    const user = entry.user ?? '';
    const image: Image = {
      id,
      repoTags: name.includes('@') ? [] : [name],
      repoDigests: [`${repository}@${id}`],
      size: entry.size ?? 5_000_000,
      username: /^\d+$/.test(user) ? '' : user,
      pinned: false,
      ...(/^\d+$/.test(user) ? { uid: Number(user) } : {}),
    };
    this.local.set(id, image);
    return image;
  }

  /** The local image of a name, digest or id. */
  find(spec: ImageSpec): Image | undefined {
    const name = normalizeImage(spec.image);
    const byId = this.local.get(name);
    if (byId) return byId;
    for (const image of this.local.values()) {
      if (image.repoTags.includes(name) || image.repoDigests.includes(name)) return image;
    }
    return undefined;
  }
}
