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

/** An OCI image layout (image-spec v1.0) with all images, as one tar that `ctr images import` reads. Layers are not compressed. */
export function ociArchive(images: readonly ImageSource[]): Buffer {
  const blobs = new Map<string, Buffer>();
  const put = (mediaType: string, data: Buffer): Descriptor => {
    const hex = createHash('sha256').update(data).digest('hex');
    blobs.set(hex, data);
    return { mediaType, digest: `sha256:${hex}`, size: data.length };
  };
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const manifests = images.map((image) => {
    const layer = put('application/vnd.oci.image.layer.v1.tar', tar(image.files));
    const config = put(
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
    const manifest = put(mediaType, json({ schemaVersion: 2, mediaType, config, layers: [layer] }));
    const tag = image.reference.slice(image.reference.lastIndexOf(':') + 1);
    return { ...manifest, annotations: { 'io.containerd.image.name': image.reference, 'org.opencontainers.image.ref.name': tag } };
  });
  return tar([
    { kind: 'file', name: 'oci-layout', mode: 0o644, data: json({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', name: 'index.json', mode: 0o644, data: json({ schemaVersion: 2, manifests }) },
    ...[...blobs].map(([hex, data]): TarEntry => ({ kind: 'file', name: `blobs/sha256/${hex}`, mode: 0o644, data })),
  ]);
}
