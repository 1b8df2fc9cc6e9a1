import { defaultPullPolicy } from './image-name.ts';
import type { Pod } from './types.ts';

type Fields = Record<string, unknown>;

const DefaultFileMode = 0o644;
const TokenSeconds = 3600;

/**
 * Fills in what the API server (and the kubelet, for a pod from a file or URL) puts into a v1 Pod where nothing is
 * given, in place. The pod has the types of the API but need not be valid. Quantities keep their text: rounding them
 * up to thousandths is left to whoever prints them. Source: vectors static-pod; gates as they are on in v1.37.
 */
export function defaultPod(pod: Pod): void {
  const raw = pod as unknown as Fields;
  const spec = object(raw['spec']) ?? {};
  raw['spec'] = spec;
  defaultSpec(spec);
  for (const volume of objects(spec['volumes'])) defaultVolume(volume);
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of objects(spec[list])) defaultContainer(container);
  }
  for (const list of ['initContainers', 'containers']) {
    for (const container of objects(spec[list])) defaultPodContainer(container, spec['hostNetwork'] === true);
  }
  const status = object(raw['status']);
  if (status) defaultStatus(status);
}

function object(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

function objects(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter((item): item is Fields => object(item) !== undefined) : [];
}

/** Sets a plain field that holds nothing: absent, empty text, zero. */
function fill(target: Fields, key: string, value: unknown): void {
  const given = target[key];
  if (given === undefined || given === '' || given === 0) target[key] = value;
}

/** Sets a pointer field: only where it is absent. */
function fillAbsent(target: Fields, key: string, value: unknown): void {
  if (target[key] === undefined) target[key] = value;
}

function defaultSpec(spec: Fields): void {
  const grace = spec['terminationGracePeriodSeconds'];
  if ((typeof grace === 'number' || typeof grace === 'bigint') && grace < 0) spec['terminationGracePeriodSeconds'] = 1;
  fillAbsent(spec, 'terminationGracePeriodSeconds', 30);
  fillAbsent(spec, 'enableServiceLinks', true);
  fillAbsent(spec, 'securityContext', {});
  fill(spec, 'serviceAccountName', spec['serviceAccount'] ?? '');
  fill(spec, 'dnsPolicy', 'ClusterFirst');
  fill(spec, 'restartPolicy', 'Always');
  fill(spec, 'schedulerName', 'default-scheduler');
  if (spec['serviceAccountName'] === '') delete spec['serviceAccountName'];
  if (spec['serviceAccountName'] === undefined) delete spec['serviceAccount'];
  else spec['serviceAccount'] = spec['serviceAccountName'];
}

function defaultContainer(container: Fields): void {
  fill(container, 'imagePullPolicy', defaultPullPolicy(text(container['image'])));
  fill(container, 'terminationMessagePath', '/dev/termination-log');
  fill(container, 'terminationMessagePolicy', 'File');
  for (const port of objects(container['ports'])) fill(port, 'protocol', 'TCP');
  for (const env of objects(container['env'])) {
    const from = object(env['valueFrom']);
    defaultFieldRef(from?.['fieldRef']);
    const key = object(from?.['fileKeyRef']);
    if (key) fillAbsent(key, 'optional', false);
  }
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) defaultProbe(object(container[name]));
  const lifecycle = object(container['lifecycle']);
  for (const name of ['postStart', 'preStop']) defaultHttpGet(object(lifecycle?.[name])?.['httpGet']);
}

/** What is done for a Pod only, not for ephemeral containers. */
function defaultPodContainer(container: Fields, hostNetwork: boolean): void {
  const resources = object(container['resources']);
  const limits = object(resources?.['limits']);
  if (resources && limits) {
    const requests = object(resources['requests']) ?? (Object.create(null) as Fields);
    for (const [name, limit] of Object.entries(limits)) if (!Object.hasOwn(requests, name)) requests[name] = limit;
    resources['requests'] = requests;
  }
  if (!hostNetwork) return;
  for (const port of objects(container['ports'])) fill(port, 'hostPort', port['containerPort'] ?? 0);
}

function defaultProbe(probe: Fields | undefined): void {
  if (!probe) return;
  fill(probe, 'timeoutSeconds', 1);
  fill(probe, 'periodSeconds', 10);
  fill(probe, 'successThreshold', 1);
  fill(probe, 'failureThreshold', 3);
  defaultHttpGet(probe['httpGet']);
  const grpc = object(probe['grpc']);
  if (grpc) fillAbsent(grpc, 'service', '');
}

function defaultHttpGet(value: unknown): void {
  const action = object(value);
  if (!action) return;
  fill(action, 'path', '/');
  fill(action, 'scheme', 'HTTP');
}

function defaultFieldRef(value: unknown): void {
  const ref = object(value);
  if (ref) fill(ref, 'apiVersion', 'v1');
}

function defaultDownwardItems(value: unknown): void {
  for (const item of objects(object(value)?.['items'])) defaultFieldRef(item['fieldRef']);
}

const volumeDefaults: Readonly<Record<string, (source: Fields) => void>> = {
  hostPath: (s) => fillAbsent(s, 'type', ''),
  secret: (s) => fillAbsent(s, 'defaultMode', DefaultFileMode),
  configMap: (s) => fillAbsent(s, 'defaultMode', DefaultFileMode),
  downwardAPI(s) {
    fillAbsent(s, 'defaultMode', DefaultFileMode);
    defaultDownwardItems(s);
  },
  projected(s) {
    fillAbsent(s, 'defaultMode', DefaultFileMode);
    for (const source of objects(s['sources'])) {
      defaultDownwardItems(source['downwardAPI']);
      const token = object(source['serviceAccountToken']);
      if (token) fillAbsent(token, 'expirationSeconds', TokenSeconds);
    }
  },
  image: (s) => fill(s, 'pullPolicy', defaultPullPolicy(text(s['reference']))),
  iscsi: (s) => fill(s, 'iscsiInterface', 'default'),
  rbd(s) {
    fill(s, 'pool', 'rbd');
    fill(s, 'user', 'admin');
    fill(s, 'keyring', '/etc/ceph/keyring');
  },
  azureDisk(s) {
    fillAbsent(s, 'cachingMode', 'ReadWrite');
    fillAbsent(s, 'fsType', 'ext4');
    fillAbsent(s, 'readOnly', false);
    fillAbsent(s, 'kind', 'Shared');
  },
  scaleIO(s) {
    fill(s, 'storageMode', 'ThinProvisioned');
    fill(s, 'fsType', 'xfs');
  },
  ephemeral(s) {
    const template = object(s['volumeClaimTemplate']);
    if (!template) return;
    const claim = object(template['spec']) ?? {};
    template['spec'] = claim;
    fillAbsent(claim, 'volumeMode', 'Filesystem');
  },
};

function defaultVolume(volume: Fields): void {
  const sources = Object.keys(volume).filter((key) => key !== 'name' && volume[key] !== undefined);
  if (sources.length === 0) volume['emptyDir'] = {};
  for (const key of sources) {
    const source = object(volume[key]);
    if (source && Object.hasOwn(volumeDefaults, key)) volumeDefaults[key]?.(source);
  }
}

/** The single address and the list of addresses follow each other; the single one wins. */
function defaultStatus(status: Fields): void {
  const ip = text(status['podIP']);
  const first = text(objects(status['podIPs'])[0]?.['ip']);
  const hasList = Array.isArray(status['podIPs']) && status['podIPs'].length > 0;
  if (ip !== '' && (!hasList || first !== ip)) status['podIPs'] = [{ ip }];
  else if (ip === '' && hasList) status['podIP'] = first;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
