import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { isKubeError } from '../kube/errors.ts';
import { createPodCertificateRequest, getPodCertificateRequest, getServiceAccount } from '../kube/typed.ts';
import type { PodCertificateRequest } from '../kube/types.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { PodCertificateAsk, PodCertificateSource } from '../volumes/ports.ts';
import { type KeyPair, signedRequest } from './certificate-request.ts';
import { implicitSet, sequence } from './der.ts';

const RequestMs = 30_000;
/** The signer is given a moment before the pod is told that it has to wait. */
const LooksMs: readonly number[] = [200, 400, 800];
/** Refreshes of many pods are spread. */
const JitterMs = 5 * 60_000;

/** PEM: the private key, and the chain that was issued for it. */
export interface PodCertificate {
  key: string;
  chain: string;
}

export interface PodCertificatesDeps {
  api: KubeApi;
  clock: Clock;
  random: Pick<Random, 'float'>;
  events: EventRecorder;
  nodeName: string;
  /** UID of the Node's object. */
  nodeUid(): string;
}

interface Pending {
  name: string;
  key: string;
}

interface Kept {
  current: (PodCertificate & { refreshAt: number }) | undefined;
  pending: Pending | undefined;
  /** Why there will be none. */
  refused: string | undefined;
}

/**
 * Certificates that signers of the cluster issue to pods (KEP-4317). The key is made here and never leaves the node; who asks
 * again gets what was issued, and has it renewed when its time comes. Kept in memory: after a restart of the agent a new one is asked for.
 */
export class PodCertificates implements PodCertificateSource {
  readonly #deps: PodCertificatesDeps;
  readonly #kept = new Map<string, Kept>();

  constructor(deps: PodCertificatesDeps) {
    this.#deps = deps;
  }

  /** Rejects while the signer has not answered, and for good when it has refused. `source`: volume and number of its source. */
  async certificate(pod: Pod, source: string, ask: PodCertificateAsk): Promise<PodCertificate> {
    const id = `${pod.metadata.uid}/${source}`;
    const kept = this.#kept.get(id) ?? { current: undefined, pending: undefined, refused: undefined };
    this.#kept.set(id, kept);
    if (kept.refused !== undefined) throw new Error(kept.refused);
    const { current } = kept;
    if (current !== undefined && this.#deps.clock.now() < current.refreshAt) return current;
    try {
      return await this.#issued(pod, kept, ask);
    } catch (err) {
      // What there is serves until it expires.
      if (kept.current === undefined) throw err;
      return kept.current;
    }
  }

  /** The pod is over. */
  forgetPod(uid: string): void {
    for (const id of this.#kept.keys()) if (id.startsWith(`${uid}/`)) this.#kept.delete(id);
  }

  async #issued(pod: Pod, kept: Kept, ask: PodCertificateAsk): Promise<PodCertificate> {
    const { api, clock } = this.#deps;
    const { namespace } = pod.metadata;
    kept.pending ??= await this.#request(pod, ask);
    for (let look = 0; ; look++) {
      const request = await getPodCertificateRequest(api, namespace, kept.pending.name, { timeoutMs: RequestMs }).catch((err: unknown) => {
        // Somebody has removed it: the next call asks anew.
        if (isKubeError(err, 'NotFound')) kept.pending = undefined;
        throw err;
      });
      const done = this.#outcome(pod, kept, kept.pending, request);
      if (done !== undefined) return done;
      const wait = kept.current === undefined ? LooksMs[look] : undefined;
      if (wait === undefined) throw new Error('credential bundle is not issued yet');
      await clock.sleep(wait);
    }
  }

  #outcome(pod: Pod, kept: Kept, pending: Pending, { metadata, status }: PodCertificateRequest): PodCertificate | undefined {
    const { events, random } = this.#deps;
    const { namespace } = pod.metadata;
    for (const { type, reason = '', message = '' } of status?.conditions ?? []) {
      if (type === 'Issued') {
        const refreshAt = Date.parse(status?.beginRefreshAt ?? '') + random.float() * JitterMs;
        kept.current = { key: pending.key, chain: cleanChain(status?.certificateChain ?? ''), refreshAt };
        kept.pending = undefined;
        return kept.current;
      }
      if (type !== 'Denied' && type !== 'Failed') continue;
      kept.pending = undefined;
      const what = type === 'Denied' ? 'denied' : 'failed';
      const told = `PodCertificateRequest ${namespace}/${metadata.name} ${type === 'Denied' ? 'was denied' : 'failed'}, reason=${JSON.stringify(reason)}, message=${JSON.stringify(message)}`;
      events.event(podEventObject(pod), 'Warning', type, told);
      const text = `PodCertificateRequest was permanently ${what}: reason=${JSON.stringify(reason)} message=${JSON.stringify(message)}`;
      if (kept.current === undefined) kept.refused = text;
      throw new Error(text);
    }
    return undefined;
  }

  async #request(pod: Pod, { signerName, keyType, maxExpirationSeconds, userAnnotations }: PodCertificateAsk): Promise<Pending> {
    const { api, nodeName, nodeUid } = this.#deps;
    const { namespace, name, uid } = pod.metadata;
    const serviceAccountName = pod.spec.serviceAccountName || 'default';
    const [account, privateKey] = await Promise.all([
      getServiceAccount(api, namespace, serviceAccountName, { timeoutMs: RequestMs }),
      newKey(keyType),
    ]);
    const body = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'PodCertificateRequest',
      metadata: { namespace, generateName: 'req-', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
      spec: {
        signerName,
        podName: name,
        podUID: uid,
        serviceAccountName,
        serviceAccountUID: account.metadata.uid ?? '',
        nodeName,
        nodeUID: nodeUid(),
        ...(maxExpirationSeconds === undefined ? {} : { maxExpirationSeconds }),
        stubPKCS10Request: stubRequest(privateKey).toString('base64'),
        ...(userAnnotations === undefined ? {} : { unverifiedUserAnnotations: userAnnotations }),
      },
    };
    const made = await createPodCertificateRequest(api, namespace, body, { timeoutMs: RequestMs });
    return { name: made.metadata.name, key: privateKey.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
  }
}

const generate = promisify(generateKeyPair) as (type: string, options: object) => Promise<KeyPair>;

const KeyTypes: ReadonlyMap<string, readonly [type: string, options: object]> = new Map([
  ['RSA3072', ['rsa', { modulusLength: 3072 }]],
  ['RSA4096', ['rsa', { modulusLength: 4096 }]],
  ['ECDSAP256', ['ec', { namedCurve: 'P-256' }]],
  ['ECDSAP384', ['ec', { namedCurve: 'P-384' }]],
  ['ECDSAP521', ['ec', { namedCurve: 'P-521' }]],
  ['ED25519', ['ed25519', {}]],
]);

async function newKey(keyType: string): Promise<KeyPair> {
  const found = KeyTypes.get(keyType);
  if (found === undefined) throw new Error(`unknown key type ${JSON.stringify(keyType)}`);
  return generate(...found);
}

/** A request that says nothing but the key. */
export function stubRequest(key: KeyPair): Buffer {
  return signedRequest(key, sequence(), implicitSet(0));
}

/** The certificates alone, without what stands between them. */
function cleanChain(text: string): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => `${block.replaceAll('\r', '')}\n`).join('');
}
