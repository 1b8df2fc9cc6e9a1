import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { isKubeError } from '../kube/errors.ts';
import { Reflector } from '../kube/reflector.ts';
import { createCsr, csrTarget, getCsr } from '../kube/typed.ts';
import type { CertificateSigningRequest } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import { certificateRequest, type RequestTemplate } from './certificate-request.ts';

export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';
export const SERVING_SIGNER = 'kubernetes.io/kubelet-serving';

/** `Denied` and `Failed` are the approver's and the signer's word; `NotIssued`: nobody answered in time. */
export type CertificateRequestErrorCode = 'Denied' | 'Failed' | 'NotIssued' | 'NameTaken';

/** A certificate that was asked for and not given. */
export class CertificateRequestError extends Error {
  readonly code: CertificateRequestErrorCode;
  /** The object's name in the API. */
  readonly request: string;
  constructor(code: CertificateRequestErrorCode, request: string, message: string) {
    super(`certificate signing request ${request}: ${message}`);
    this.name = 'CertificateRequestError';
    this.code = code;
    this.request = request;
  }
}

export interface RequestDeps {
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
}

export interface RequestInput {
  template: RequestTemplate;
  key: KeyObject;
  signerName: string;
  /** A fixed name, which a second request for the same key finds again; else the server makes one up. */
  name?: string;
  /** Milliseconds until a request that nobody answers is given up. */
  timeoutMs: number;
}

/**
 * Asks the API server for a certificate and waits until it is issued: PEM. Rejects with CertificateRequestError when it is
 * denied, fails or is not answered, with KubeError when it cannot be made, and with the signal's reason.
 */
export async function requestCertificate(deps: RequestDeps, input: RequestInput, signal: AbortSignal): Promise<string> {
  const { template, key, signerName, timeoutMs } = input;
  const request = Buffer.from(certificateRequest(template, key, createPublicKey(key))).toString('base64');
  const usage = signerName === SERVING_SIGNER ? 'server auth' : 'client auth';
  const made = await makeOrFind(
    deps.api,
    input,
    {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: input.name === undefined ? { generateName: 'csr-' } : { name: input.name },
      // An EC key encrypts nothing, so that usage is not asked for.
      spec: { request, signerName, usages: ['digital signature', usage] },
    },
    signal,
  );
  deps.log.info('Waiting for a certificate to be issued', { csr: made.metadata.name, signer: signerName });
  const enough = new AbortController();
  const late = deps.clock.after(timeoutMs, () => enough.abort(), true);
  const either = AbortSignal.any([signal, enough.signal]);
  try {
    return await issued(deps, made, either);
  } catch (err) {
    signal.throwIfAborted();
    if (!enough.signal.aborted) throw err;
    throw new CertificateRequestError(
      'NotIssued',
      made.metadata.name,
      `neither approved nor denied within ${timeoutMs / 1000} s; look at it with "kubectl get csr"`,
    );
  } finally {
    late.cancel();
    enough.abort();
  }
}

async function makeOrFind(api: KubeApi, input: RequestInput, csr: object, signal: AbortSignal): Promise<CertificateSigningRequest> {
  try {
    return await createCsr(api, csr, { signal });
  } catch (err) {
    if (input.name === undefined || !isKubeError(err, 'AlreadyExists')) throw err;
    const found = await getCsr(api, input.name, { signal });
    // Its name comes from the key, so it is ours, from before a restart; a signature makes every request differ.
    if (found.spec.signerName === input.signerName) return found;
    throw new CertificateRequestError('NameTaken', input.name, `is there already, for signer ${found.spec.signerName}`);
  }
}

/** Watches one request until it has a certificate or a refusal. */
async function issued(deps: RequestDeps, csr: CertificateSigningRequest, signal: AbortSignal): Promise<string> {
  const first = outcome(csr);
  if (first !== undefined) return first;
  const reflector = new Reflector<CertificateSigningRequest>({ ...deps, ...csrTarget(csr.metadata.name) });
  const ended = new AbortController();
  const running = reflector.run(AbortSignal.any([signal, ended.signal]));
  try {
    for await (const [seen] of reflector.states(signal)) {
      if (seen === undefined) throw new CertificateRequestError('NotIssued', csr.metadata.name, 'was deleted before it was answered');
      const certificate = outcome(seen);
      if (certificate !== undefined) return certificate;
    }
    throw signal.reason;
  } finally {
    ended.abort();
    await running;
  }
}

/** The certificate; undefined while there is none. Throws a refusal. */
export function outcome({ metadata: { name }, status }: CertificateSigningRequest): string | undefined {
  for (const { type, reason, message } of status?.conditions ?? []) {
    if (type !== 'Denied' && type !== 'Failed') continue;
    const text = [reason, message].filter((t) => t !== undefined && t !== '').join(': ');
    throw new CertificateRequestError(
      type,
      name,
      `${type === 'Denied' ? 'was denied' : 'could not be signed'}${text === '' ? '' : ` (${text})`}`,
    );
  }
  const encoded = status?.certificate;
  if (encoded === undefined || encoded === '') return undefined;
  return Buffer.from(encoded, 'base64').toString('utf8');
}
