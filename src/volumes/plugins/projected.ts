import type { Pod } from '../../api/types.ts';
import type { ContentKind } from '../content-volume.ts';
import { fsUserOf } from '../fs-user.ts';
import { configMapFiles, downwardFiles, type FileSources, objectsOf, secretFiles } from '../object-files.ts';
import type { Payload } from '../payload.ts';
import { defaultModeOf, has, isOptional, type Source, sourceOf, sourcesOf, textField } from '../source-fields.ts';
import { isFinal, textOf, VolumeError } from '../volume-error.ts';

/** Contract node.md §10. */
const DefaultTokenSeconds = 3600;

interface Projection {
  sources: FileSources;
  pod: Pod;
  defaultMode: number;
  fsGroup: number | undefined;
}

type Reader = (projection: Projection, source: Source, place: string) => Payload | Promise<Payload>;

/** Every kind of source, by its key. */
const Readers: Readonly<Record<string, Reader>> = {
  secret: (p, source) => secretFiles(p.sources, p.pod, textField(source, 'name'), source, p.defaultMode),
  configMap: (p, source) => configMapFiles(p.sources, p.pod, textField(source, 'name'), source, p.defaultMode),
  downwardAPI: (p, source) => downwardFiles(p.sources, p.pod, source, p.defaultMode),
  serviceAccountToken: tokenFile,
  clusterTrustBundle: trustBundleFile,
  podCertificate: podCertificateFiles,
};

/** Files of several sources in one directory, in memory: a token may be among them. */
export const ProjectedKind: ContentKind = {
  name: 'kubernetes.io/projected',
  field: 'projected',
  inMemory: true,
  async payload(sources, { pod, volume, fsGroup }, source) {
    const projection = { sources, pod, defaultMode: defaultModeOf(source), fsGroup };
    const parts = await Promise.allSettled(sourcesOf(source['sources']).map((part, i) => project(projection, part, `${volume.name}/${i}`)));
    const failures = parts.flatMap((part) => (part.status === 'rejected' ? [part.reason as unknown] : []));
    if (failures.length > 0) throw together(failures);
    // In their order: a later source wins.
    return new Map(parts.flatMap((part) => (part.status === 'fulfilled' ? [...part.value] : [])));
  },
};

/** `place`: the volume and the number of the source in it. */
async function project(projection: Projection, part: Source, place: string): Promise<Payload> {
  const key = Object.keys(Readers).find((name) => has(part, name));
  const reader = key === undefined ? undefined : Readers[key];
  if (key === undefined || reader === undefined) {
    throw new VolumeError('unsupported', `a projected source of the kind ${JSON.stringify(Object.keys(part)[0] ?? '')} is not supported`);
  }
  return reader(projection, sourceOf(part[key]), place);
}

/** A token is for the pod's eyes. */
async function tokenFile({ sources, pod, defaultMode, fsGroup }: Projection, source: Source): Promise<Payload> {
  const path = textField(source, 'path');
  const seconds = source['expirationSeconds'];
  const token = await objectsOf(sources, 'a service account token').token(pod, {
    audience: textField(source, 'audience'),
    expirationSeconds: typeof seconds === 'number' ? seconds : DefaultTokenSeconds,
    path,
  });
  return new Map([[path, { data: Buffer.from(token), ...privateFile({ pod, defaultMode, fsGroup }) }]]);
}

/** Where a user or a group can be given the file, nobody else may read it. */
function privateFile({ pod, defaultMode, fsGroup }: Pick<Projection, 'pod' | 'defaultMode' | 'fsGroup'>): {
  mode: number;
  uid: number | undefined;
} {
  const uid = fsUserOf(pod);
  return { uid, mode: uid !== undefined || fsGroup !== undefined ? 0o600 : defaultMode };
}

async function trustBundleFile(projection: Projection, source: Source): Promise<Payload> {
  const [name, signerName] = [textField(source, 'name'), textField(source, 'signerName')];
  if (name === '' && signerName === '') {
    throw new VolumeError('invalid', 'ClusterTrustBundle projection requires either name or signerName to be set');
  }
  const labelSelector = has(source, 'labelSelector') ? sourceOf(source['labelSelector']) : undefined;
  const query = name === '' ? { signerName, labelSelector } : { name };
  const anchors = await objectsOf(projection.sources, 'ClusterTrustBundles').trustAnchors(query);
  if (anchors === undefined && !isOptional(source)) {
    const text =
      name === ''
        ? 'combination of signerName and labelSelector matched zero ClusterTrustBundles'
        : `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io ${JSON.stringify(name)} not found`;
    throw new VolumeError('not-found', text);
  }
  return new Map([[textField(source, 'path'), { data: Buffer.from(anchors ?? ''), ...privateFile(projection) }]]);
}

/** The key and the chain, each in a file of its own or both in one, as the source says. */
async function podCertificateFiles(projection: Projection, source: Source, place: string): Promise<Payload> {
  const { sources, pod } = projection;
  if (sources.podCertificates === undefined) {
    throw new VolumeError('no-api-server', "couldn't get a pod certificate: this node runs without an API server");
  }
  const seconds = source['maxExpirationSeconds'];
  const { key, chain } = await sources.podCertificates.certificate(pod, place, {
    signerName: textField(source, 'signerName'),
    keyType: textField(source, 'keyType'),
    maxExpirationSeconds: typeof seconds === 'number' ? seconds : undefined,
    userAnnotations: has(source, 'userAnnotations') ? (sourceOf(source['userAnnotations']) as Record<string, string>) : undefined,
  });
  const contents = { credentialBundlePath: key + chain, keyPath: key, certificateChainPath: chain };
  const files: Payload = new Map();
  for (const [field, text] of Object.entries(contents)) {
    const path = textField(source, field);
    if (path !== '') files.set(path, { data: Buffer.from(text), ...privateFile(projection) });
  }
  return files;
}

function together(failures: readonly unknown[]): unknown {
  const [first] = failures;
  if (failures.length === 1) return first;
  const final = failures.find(isFinal);
  const code = final instanceof VolumeError ? final.code : first instanceof VolumeError ? first.code : 'host';
  return new VolumeError(code, `[${failures.map(textOf).join(', ')}]`, first);
}
