import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import type { Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import { newPrivateKey, privateKeyPem, type RequestTemplate } from './certificate-request.ts';
import type { CertificateStore, HeldCertificate } from './certificate-store.ts';
import { CertificateRequestError, requestCertificate } from './request-certificate.ts';
import { isValidAt, rotationTime } from './rotation-time.ts';

/** Contract node.md §11: how long one request may take, and the waits between failed ones. */
const ISSUE_LIMIT_MS = 15 * 60_000;
const RETRY_FIRST_MS = 2_000;
const RETRY_MAX_MS = 32_000;
/** The longest sleep that a timer takes; also how often a clock that was set is noticed. */
const LOOK_MS = 3_600_000;
/** A template that names no address yet is looked at again so soon. */
const TEMPLATE_MS = 5_000;

/** What the world is told of a certificate that does not come. */
export interface CertificateTrouble {
  /** `Denied`, `Failed`, `NotIssued`, or `RequestFailed` where the API server refused the request itself. */
  reason: string;
  message: string;
}

export interface CertificateManagerDeps {
  /** `client` or `serving`, for logs. */
  kind: 'client' | 'serving';
  signerName: string;
  /** What to ask for now; undefined while that is not known. */
  template(): RequestTemplate | undefined;
  store: CertificateStore;
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
  /** A new certificate is in use. */
  changed(held: HeldCertificate): void;
  /** A request did not lead to a certificate; undefined when one did after all. */
  trouble(trouble: CertificateTrouble | undefined): void;
  metrics: {
    /** Seconds until the certificate in use ends; asked for when somebody reads it. */
    ttl(read: () => number): void;
    /** A certificate was replaced after so many seconds of use. */
    rotated(ageSeconds: number): void;
    failed(): void;
  };
}

/** Keeps one certificate valid: asks for the first one where there is none, and for the next before the old one ends. */
export class CertificateManager implements Service {
  readonly name: string;
  readonly #deps: CertificateManagerDeps;
  readonly #pause: Pause;
  readonly #ready = Promise.withResolvers<void>();
  #held: HeldCertificate | undefined;
  #rotateAt = 0;
  #fault: string | undefined = 'no certificate yet';
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: CertificateManagerDeps, held: HeldCertificate | undefined) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
    this.name = `${deps.kind}-certificate`;
    if (held !== undefined) this.#take(held);
    deps.metrics.ttl(() =>
      this.#held === undefined ? Number.POSITIVE_INFINITY : (this.#held.leaf.validToDate.getTime() - deps.clock.now()) / 1000,
    );
  }

  get held(): HeldCertificate | undefined {
    return this.#held;
  }

  start(signal: AbortSignal): void {
    this.#loop = this.#run(signal);
  }

  /** Resolves once there is a certificate. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  health(): Health {
    return this.#fault === undefined ? { ok: true } : { ok: false, reason: this.#fault };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** What is asked for has changed: it is looked at now. */
  poke(): void {
    this.#pause.poke();
  }

  async #run(signal: AbortSignal): Promise<void> {
    let retryMs = RETRY_FIRST_MS;
    while (!signal.aborted) {
      const wait = this.#waitMs();
      if (wait > 0) {
        await this.#pause.wait(Math.min(wait, LOOK_MS), signal);
        continue;
      }
      const template = this.#deps.template();
      if (template === undefined) {
        await this.#pause.wait(TEMPLATE_MS, signal);
        continue;
      }
      if (await this.#renew(template, signal)) retryMs = RETRY_FIRST_MS;
      else {
        await this.#pause.wait(retryMs, signal);
        retryMs = Math.min(retryMs * 2, RETRY_MAX_MS);
      }
    }
  }

  /** Until a certificate is to be asked for. */
  #waitMs(): number {
    const { clock } = this.#deps;
    if (this.#held === undefined || this.#misses()) return 0;
    return this.#rotateAt - clock.now();
  }

  /** The node has a name or an address that the certificate in use does not hold for. */
  #misses(): boolean {
    const wanted = this.#deps.template()?.alternatives ?? [];
    const { leaf } = this.#held ?? {};
    return leaf !== undefined && !wanted.every((name) => holdsFor(leaf, name));
  }

  async #renew(template: RequestTemplate, signal: AbortSignal): Promise<boolean> {
    const { kind, signerName, store, clock, log, changed, trouble, metrics } = this.#deps;
    const before = this.#held;
    try {
      log.info('Rotating certificates', { kind });
      const key = await newPrivateKey();
      const certPem = await requestCertificate(this.#deps, { template, key, signerName, timeoutMs: ISSUE_LIMIT_MS }, signal);
      const held = await store.update(certPem, privateKeyPem(key), clock.now());
      if (!isValidAt(held.leaf, clock.now()))
        log.warn('The new certificate does not hold at this moment: compare the clocks of this node and of the control plane', {
          kind,
          notBefore: held.leaf.validFrom,
          notAfter: held.leaf.validTo,
        });
      this.#take(held);
      if (before !== undefined) metrics.rotated((clock.now() - before.leaf.validFromDate.getTime()) / 1000);
      changed(held);
      trouble(undefined);
      return true;
    } catch (err) {
      if (signal.aborted) return false;
      const message = err instanceof Error ? err.message : String(err);
      metrics.failed();
      log.error(err, 'Certificate request was not granted', { kind });
      this.#fault = message;
      trouble({ reason: err instanceof CertificateRequestError ? err.code : 'RequestFailed', message });
      return false;
    }
  }

  #take(held: HeldCertificate): void {
    const { clock, random, log, kind } = this.#deps;
    this.#held = held;
    const now = clock.now();
    // One that has ended already is replaced at once.
    this.#rotateAt = isValidAt(held.leaf, now) || now < held.leaf.validFromDate.getTime() ? rotationTime(held.leaf, random) : now;
    this.#fault = undefined;
    this.#ready.resolve();
    log.info('Certificate rotation deadline determined', {
      kind,
      expiration: held.leaf.validToDate.toISOString(),
      deadline: new Date(this.#rotateAt).toISOString(),
    });
  }
}

/** Whether a certificate names that address or that DNS name; the subject's common name does not count. */
function holdsFor(leaf: X509Certificate, name: string): boolean {
  return (isIP(name) === 0 ? leaf.checkHost(name, { subject: 'never' }) : leaf.checkIP(name)) !== undefined;
}
