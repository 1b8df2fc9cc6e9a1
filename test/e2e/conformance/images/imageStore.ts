import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TarEntry, tar } from '../../../../scripts/images/tar.ts';
import type { Layer } from './layer.ts';

/** The OCI image configuration, as far as the images here set it. */
export interface ImageConfig {
  Entrypoint?: string[];
  Cmd?: string[];
  Env?: string[];
  User?: string;
  WorkingDir?: string;
  StopSignal?: string;
  ExposedPorts?: Record<string, Record<string, never>>;
}

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

/** An image as it lies in the store. */
export interface StoredImage {
  manifest: Descriptor;
  config: Descriptor;
  layers: Descriptor[];
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };
export const architecture = ARCHITECTURES[process.arch] ?? process.arch;

/** A folder of blobs with the names that lead to them (`tags.json`), which `registry.ts` serves. */
export class ImageStore {
  readonly #dir: string;
  readonly #tags: Record<string, string> = {};
  readonly #layers = new Map<Layer, Descriptor>();

  constructor(dir: string) {
    this.#dir = dir;
    mkdirSync(join(dir, 'blobs'), { recursive: true });
  }

  put(mediaType: string, data: Buffer): Descriptor {
    const hex = createHash('sha256').update(data).digest('hex');
    const path = join(this.#dir, 'blobs', hex);
    if (!existsSync(path)) writeFileSync(path, data);
    return { mediaType, digest: `sha256:${hex}`, size: data.length };
  }

  read(descriptor: Descriptor): Buffer {
    return readFileSync(join(this.#dir, 'blobs', descriptor.digest.slice('sha256:'.length)));
  }

  /** Adds an image under all `references`; `note` makes otherwise equal images differ. Layers are not compressed. */
  add(references: readonly string[], layers: readonly Layer[], config: ImageConfig, note = 'stand-in'): StoredImage {
    const json = (value: unknown) => Buffer.from(JSON.stringify(value));
    const stored = layers.map((layer) => {
      const known = this.#layers.get(layer) ?? this.put('application/vnd.oci.image.layer.v1.tar', layer.tar());
      this.#layers.set(layer, known);
      return known;
    });
    const configBlob = this.put(
      'application/vnd.oci.image.config.v1+json',
      json({
        created: '2024-01-01T00:00:00Z',
        architecture,
        os: 'linux',
        config,
        rootfs: { type: 'layers', diff_ids: stored.map((l) => l.digest) },
        history: stored.map(() => ({ created: '2024-01-01T00:00:00Z', created_by: note })),
      }),
    );
    const manifest = this.put(MANIFEST, json({ schemaVersion: 2, mediaType: MANIFEST, config: configBlob, layers: stored }));
    for (const r of references) this.#tags[r] = manifest.digest;
    return { manifest, config: configBlob, layers: stored };
  }

  /** An OCI layout tar for `ctr images import`, with an image under one name. */
  archive(reference: string, image: StoredImage): Buffer {
    const index = {
      ...image.manifest,
      annotations: { 'io.containerd.image.name': reference, 'org.opencontainers.image.ref.name': 'imported' },
    };
    const file = (name: string, data: Buffer): TarEntry => ({ kind: 'file', name, mode: 0o644, data });
    return tar([
      file('oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')),
      file('index.json', Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: [index] }))),
      ...[image.manifest, image.config, ...image.layers].map((d) => file(`blobs/sha256/${d.digest.slice('sha256:'.length)}`, this.read(d))),
    ]);
  }

  /** Writes the table of names. */
  close(): void {
    writeFileSync(join(this.#dir, 'tags.json'), JSON.stringify(this.#tags, null, 1));
  }
}
