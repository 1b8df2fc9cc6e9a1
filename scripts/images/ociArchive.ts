import { createHash } from 'node:crypto';
import { type TarEntry, tar } from './tar.ts';

/** An image of one layer. */
export interface ImageSource {
  /** Full reference, for example `registry.local/busybox:1`. */
  reference: string;
  files: readonly TarEntry[];
  config: { Entrypoint?: string[]; Cmd?: string[]; Env?: string[]; User?: string; WorkingDir?: string; StopSignal?: string };
}

interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
}

const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The parts of one image: its manifest, and what that names. */
export interface ImageParts {
  manifest: Part;
  blobs: Part[];
}

export interface Part {
  /** `sha256:…` of the data. */
  digest: string;
  mediaType: string;
  data: Buffer;
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const part = (mediaType: string, data: Buffer): Part => ({
  digest: `sha256:${createHash('sha256').update(data).digest('hex')}`,
  mediaType,
  data,
});
const describe = ({ mediaType, digest, data }: Part): Descriptor => ({ mediaType, digest, size: data.length });

/** The parts of an image of one layer that is not compressed (image-spec v1.0). */
export function imageParts(image: ImageSource): ImageParts {
  const layer = part('application/vnd.oci.image.layer.v1.tar', tar(image.files));
  const config = part(
    'application/vnd.oci.image.config.v1+json',
    json({
      created: '2024-01-01T00:00:00Z',
      architecture: ARCHITECTURES[process.arch] ?? process.arch,
      os: 'linux',
      config: image.config,
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
      history: [{ created: '2024-01-01T00:00:00Z', created_by: 'kubelet-ts example images' }],
    }),
  );
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const data = json({ schemaVersion: 2, mediaType, config: describe(config), layers: [describe(layer)] });
  return { manifest: part(mediaType, data), blobs: [layer, config] };
}

/** An OCI image layout (image-spec v1.0) with all images, as one tar that `ctr images import` reads. */
export function ociArchive(images: readonly ImageSource[]): Buffer {
  const blobs = new Map<string, Buffer>();
  const manifests = images.map((image) => {
    const { manifest, blobs: parts } = imageParts(image);
    for (const { digest, data } of [...parts, manifest]) blobs.set(digest, data);
    const tag = image.reference.slice(image.reference.lastIndexOf(':') + 1);
    return {
      ...describe(manifest),
      annotations: { 'io.containerd.image.name': image.reference, 'org.opencontainers.image.ref.name': tag },
    };
  });
  return tar([
    { kind: 'file', name: 'oci-layout', mode: 0o644, data: json({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', name: 'index.json', mode: 0o644, data: json({ schemaVersion: 2, manifests }) },
    ...[...blobs].map(([digest, data]): TarEntry => ({ kind: 'file', name: `blobs/${digest.replace(':', '/')}`, mode: 0o644, data })),
  ]);
}
