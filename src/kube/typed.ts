import type { Pod } from '../api/types.ts';
import type { CallOptions, KubeApi, KubeCall, KubeObject } from './api.ts';
import type { ListTarget } from './reflector.ts';
import type {
  CertificateSigningRequest,
  ConfigMap,
  CSINode,
  KubeEvent,
  Lease,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PodCertificateRequest,
  RuntimeClass,
  Secret,
  SubjectAccessReview,
  TokenRequest,
  TokenReview,
  VolumeAttachment,
} from './types.ts';

/*
 * The calls that the agent makes, one line each. All reject with KubeError. A `patch` is a strategic merge patch unless
 * its name says otherwise; what is sent and what comes back are the API's own JSON.
 */

export const StrategicMergePatch = 'application/strategic-merge-patch+json';
export const JsonMergePatch = 'application/merge-patch+json';

/** Where the leases of nodes are. */
export const NodeLeaseNamespace = 'kube-node-lease';

/**
 * A path from segments. Throws RangeError for a segment that would lead elsewhere: names come from objects that others
 * wrote.
 */
export function apiPath(base: string, ...segments: string[]): string {
  for (const s of segments) {
    if (s === '' || s === '.' || s === '..' || /[/%?#]/.test(s)) throw new RangeError(`"${s.slice(0, 80)}" is no name of an API object`);
  }
  return [base, ...segments.map(encodeURIComponent)].join('/');
}

const core = '/api/v1';
const inNamespace = (base: string, ns: string, ...rest: string[]) => apiPath(base, 'namespaces', ns, ...rest);
/** `cached`: whatever the server has at hand, which may be a little old (resourceVersion 0). */
type GetOptions = CallOptions & { cached?: boolean };
const get = <T>(api: KubeApi, path: string, { cached, ...o }: GetOptions = {}) =>
  api.request<T>({ method: 'GET', path, ...(cached ? { query: { resourceVersion: '0' } } : {}), ...o });
const write = <T>(api: KubeApi, method: KubeCall['method'], path: string, body: unknown, o: CallOptions = {}) =>
  api.request<T>({ method, path, body, ...o });
const patch = <T>(api: KubeApi, path: string, body: unknown, o: CallOptions = {}, contentType = StrategicMergePatch) =>
  api.request<T>({ method: 'PATCH', path, body, contentType, ...o });

// Nodes
export const getNode = (api: KubeApi, name: string, o?: GetOptions) => get<Node>(api, apiPath(`${core}/nodes`, name), o);
export const createNode = (api: KubeApi, node: Node, o?: CallOptions) => write<Node>(api, 'POST', `${core}/nodes`, node, o);
export const patchNode = (api: KubeApi, name: string, body: object, o?: CallOptions) =>
  patch<Node>(api, apiPath(`${core}/nodes`, name), body, o);
export const patchNodeStatus = (api: KubeApi, name: string, body: object, o?: CallOptions) =>
  patch<Node>(api, apiPath(`${core}/nodes`, name, 'status'), body, o);
export const nodeTarget = (name: string): ListTarget => ({ path: `${core}/nodes`, fieldSelector: `metadata.name=${name}` });

// Leases of nodes
const leases = inNamespace('/apis/coordination.k8s.io/v1', NodeLeaseNamespace, 'leases');
export const getLease = (api: KubeApi, name: string, o?: CallOptions) => get<Lease>(api, apiPath(leases, name), o);
export const createLease = (api: KubeApi, lease: Lease, o?: CallOptions) => write<Lease>(api, 'POST', leases, lease, o);
/** Fails with Conflict when the lease's resource version is not the newest. */
export const updateLease = (api: KubeApi, lease: Lease, o?: CallOptions) =>
  write<Lease>(api, 'PUT', apiPath(leases, lease.metadata.name), lease, o);

// Pods
const podPath = (ns: string, name: string, ...rest: string[]) => inNamespace(core, ns, 'pods', name, ...rest);
/** The pods of a node. */
export const podTarget = (nodeName: string): ListTarget => ({ path: `${core}/pods`, fieldSelector: `spec.nodeName=${nodeName}` });
export const getPod = (api: KubeApi, ns: string, name: string, o?: CallOptions) => get<Pod>(api, podPath(ns, name), o);
/** For mirror pods. */
export const createPod = (api: KubeApi, pod: object, ns: string, o?: CallOptions) =>
  write<Pod>(api, 'POST', inNamespace(core, ns, 'pods'), pod, o);
/** `body.metadata.uid` should be set: the server then refuses (Conflict) to write on a pod of the same name that came later. */
export const patchPodStatus = (api: KubeApi, ns: string, name: string, body: object, o?: CallOptions) =>
  patch<Pod>(api, podPath(ns, name, 'status'), body, o);
/** Fails with Conflict when the pod has another UID. `graceSeconds` 0 removes it. */
export const deletePod = (api: KubeApi, ns: string, name: string, uid: string, graceSeconds: number, o?: CallOptions) =>
  write<unknown>(
    api,
    'DELETE',
    podPath(ns, name),
    { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: graceSeconds, preconditions: { uid } },
    o,
  );

// Events
const eventsOf = (ns: string, ...rest: string[]) => inNamespace(core, ns, 'events', ...rest);
export const createEvent = (api: KubeApi, event: KubeEvent, ns: string, o?: CallOptions) =>
  write<KubeEvent>(api, 'POST', eventsOf(ns), event, o);
export const patchEvent = (api: KubeApi, ns: string, name: string, body: object, o?: CallOptions) =>
  patch<KubeEvent>(api, eventsOf(ns, name), body, o);

// What pods refer to
const byName = (kind: 'configmaps' | 'secrets', ns: string, name: string): ListTarget => ({
  path: inNamespace(core, ns, kind),
  fieldSelector: `metadata.name=${name}`,
});
export const getConfigMap = (api: KubeApi, ns: string, name: string, o?: GetOptions) =>
  get<ConfigMap>(api, inNamespace(core, ns, 'configmaps', name), o);
export const configMapTarget = (ns: string, name: string) => byName('configmaps', ns, name);
export const getSecret = (api: KubeApi, ns: string, name: string, o?: GetOptions) =>
  get<Secret>(api, inNamespace(core, ns, 'secrets', name), o);
export const secretTarget = (ns: string, name: string) => byName('secrets', ns, name);
export const serviceTarget: ListTarget = { path: `${core}/services` };
export const getClaim = (api: KubeApi, ns: string, name: string, o?: CallOptions) =>
  get<PersistentVolumeClaim>(api, inNamespace(core, ns, 'persistentvolumeclaims', name), o);
export const patchClaimStatus = (api: KubeApi, ns: string, name: string, body: object, o?: CallOptions) =>
  patch<PersistentVolumeClaim>(api, inNamespace(core, ns, 'persistentvolumeclaims', name, 'status'), body, o);
export const getPersistentVolume = (api: KubeApi, name: string, o?: CallOptions) =>
  get<PersistentVolume>(api, apiPath(`${core}/persistentvolumes`, name), o);
/** The versions that a server may have, the newest first. */
export const TrustBundleVersions = ['v1', 'v1beta1'] as const;
export const trustBundleTarget = (version: string): ListTarget => ({ path: `/apis/certificates.k8s.io/${version}/clustertrustbundles` });
export const listTrustBundles = (api: KubeApi, version: string, o: CallOptions = {}) =>
  api.request<unknown>({ method: 'GET', ...trustBundleTarget(version), query: { limit: 1 }, ...o });
const runtimeClasses = '/apis/node.k8s.io/v1/runtimeclasses';
export const runtimeClassTarget: ListTarget = { path: runtimeClasses };
export const getRuntimeClass = (api: KubeApi, name: string, o?: CallOptions) => get<RuntimeClass>(api, apiPath(runtimeClasses, name), o);
export const getServiceAccount = (api: KubeApi, ns: string, name: string, o?: CallOptions) =>
  get<KubeObject>(api, inNamespace(core, ns, 'serviceaccounts', name), o);
export const requestToken = (api: KubeApi, ns: string, serviceAccount: string, body: TokenRequest, o?: CallOptions) =>
  write<TokenRequest>(api, 'POST', inNamespace(core, ns, 'serviceaccounts', serviceAccount, 'token'), body, o);

// Who may do what
export const reviewToken = (api: KubeApi, body: TokenReview, o?: CallOptions) =>
  write<TokenReview>(
    api,
    'POST',
    '/apis/authentication.k8s.io/v1/tokenreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', ...body },
    o,
  );
export const reviewAccess = (api: KubeApi, body: SubjectAccessReview, o?: CallOptions) =>
  write<SubjectAccessReview>(
    api,
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', ...body },
    o,
  );

// Certificates
const csrs = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
export const createCsr = (api: KubeApi, csr: object, o?: CallOptions) => write<CertificateSigningRequest>(api, 'POST', csrs, csr, o);
export const getCsr = (api: KubeApi, name: string, o?: CallOptions) => get<CertificateSigningRequest>(api, apiPath(csrs, name), o);
export const csrTarget = (name: string): ListTarget => ({ path: csrs, fieldSelector: `metadata.name=${name}` });

const podCertificatesOf = (ns: string, ...rest: string[]) =>
  inNamespace('/apis/certificates.k8s.io/v1', ns, 'podcertificaterequests', ...rest);
export const createPodCertificateRequest = (api: KubeApi, ns: string, body: object, o?: CallOptions) =>
  write<PodCertificateRequest>(api, 'POST', podCertificatesOf(ns), body, o);
export const getPodCertificateRequest = (api: KubeApi, ns: string, name: string, o?: CallOptions) =>
  get<PodCertificateRequest>(api, podCertificatesOf(ns, name), o);

// CSI
const csiNodes = '/apis/storage.k8s.io/v1/csinodes';
export const getCsiNode = (api: KubeApi, name: string, o?: CallOptions) => get<CSINode>(api, apiPath(csiNodes, name), o);
export const createCsiNode = (api: KubeApi, node: CSINode, o?: CallOptions) => write<CSINode>(api, 'POST', csiNodes, node, o);
/** Fails with Conflict when the resource version is not the newest. */
export const updateCsiNode = (api: KubeApi, node: CSINode, o?: CallOptions) =>
  write<CSINode>(api, 'PUT', apiPath(csiNodes, node.metadata.name), node, o);
export const deleteCsiNode = (api: KubeApi, name: string, o?: CallOptions) =>
  write<unknown>(api, 'DELETE', apiPath(csiNodes, name), { kind: 'DeleteOptions', apiVersion: 'v1' }, o);
export const csiDriverTarget: ListTarget = { path: '/apis/storage.k8s.io/v1/csidrivers' };
export const getVolumeAttachment = (api: KubeApi, name: string, o?: CallOptions) =>
  get<VolumeAttachment>(api, apiPath('/apis/storage.k8s.io/v1/volumeattachments', name), o);
