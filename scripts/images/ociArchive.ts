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
  mediaType: string;
  data: Buffer;
}

const json = (value: unknown) => Buffer.from(JSON.stringify(value));
const digestOf = (data: Buffer) => createHash('sha256').update(data).digest('hex');
const describe = ({ mediaType, data }: Part): Descriptor => ({ mediaType, digest: `sha256:${digestOf(data)}`, size: data.length });

/** The parts of an image of one layer that is not compressed (image-spec v1.0). */
export function imageParts(image: ImageSource): ImageParts {
  const layer = { mediaType: 'application/vnd.oci.image.layer.v1.tar', data: tar(image.files) };
  const config = {
    mediaType: 'application/vnd.oci.image.config.v1+json',
    data: json({
      created: '2024-01-01T00:00:00Z',
      architecture: ARCHITECTURES[process.arch] ?? process.arch,
      os: 'linux',
      config: image.config,
      rootfs: { type: 'layers', diff_ids: [describe(layer).digest] },
      history: [{ created: '2024-01-01T00:00:00Z', created_by: 'kubelet-ts example images' }],
    }),
  };
  const mediaType = 'application/vnd.oci.image.manifest.v1+json';
  const data = json({ schemaVersion: 2, mediaType, config: describe(config), layers: [describe(layer)] });
  return { manifest: { mediaType, data }, blobs: [layer, config] };
}

/** An OCI image layout (image-spec v1.0) with all images, as one tar that `ctr images import` reads. */
export function ociArchive(images: readonly ImageSource[]): Buffer {
  const blobs = new Map<string, Buffer>();
  const manifests = images.map((image) => {
    const { manifest, blobs: parts } = imageParts(image);
    for (const { data } of [...parts, manifest]) blobs.set(digestOf(data), data);
    const tag = image.reference.slice(image.reference.lastIndexOf(':') + 1);
    return {
      ...describe(manifest),
      annotations: { 'io.containerd.image.name': image.reference, 'org.opencontainers.image.ref.name': tag },
    };
  });
  return tar([
    { kind: 'file', name: 'oci-layout', mode: 0o644, data: json({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', name: 'index.json', mode: 0o644, data: json({ schemaVersion: 2, manifests }) },
    ...[...blobs].map(([hex, data]): TarEntry => ({ kind: 'file', name: `blobs/sha256/${hex}`, mode: 0o644, data })),
  ]);
}
