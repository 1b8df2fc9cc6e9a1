import { formatMicroTime } from '../api/time.ts';
import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import { jitter, type Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { isKubeError } from '../kube/errors.ts';
import { createLease, getLease, NodeLeaseNamespace, updateLease } from '../kube/typed.ts';
import type { Lease } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';

/** Contract node.md §2. */
const RenewFraction = 0.25;
const Jitter = 0.04;
const UpdateTries = 5;
const FirstRetryMs = 200;
const MaxRetryMs = 7_000;

export interface NodeLeaseDeps {
  /** The heartbeat client: without a limit of requests, with its own deadline. */
  api: KubeApi;
  nodeName: string;
  durationSeconds: number;
  clock: Clock;
  random: Random;
  log: Logger;
  /** UID of the Node, which owns the lease; undefined while it is not known. */
  nodeUid(): string | undefined;
  /** The second try failed, too: connections may be dead. */
  repeatedFailure(): void;
}

/** Tells the cluster every quarter of the lease's duration that the node is alive. */
export class NodeLease implements Service {
  readonly name = 'node-lease';
  readonly #deps: NodeLeaseDeps;
  readonly #pause: Pause;
  readonly #first = Promise.withResolvers<void>();
  #latest: Lease | undefined;
  #renewedAt: number | undefined;
  #startedAt = 0;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: NodeLeaseDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  start(signal: AbortSignal): void {
    this.#startedAt = this.#deps.clock.monotonic();
    this.#loop = this.#run(signal);
  }

  ready(): Promise<void> {
    return this.#first.promise;
  }

  health(): Health {
    const { clock, durationSeconds } = this.#deps;
    const age = clock.monotonic() - (this.#renewedAt ?? this.#startedAt);
    if (age <= durationSeconds * 1000) return { ok: true };
    return { ok: false, reason: `the node's lease was not renewed for ${Math.round(age / 1000)} s` };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** The node became known: a lease that waits for its owner can be made now. */
  nodeKnown(): void {
    if (this.#latest === undefined) this.#pause.poke();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { random, durationSeconds } = this.#deps;
    const period = durationSeconds * 1000 * RenewFraction;
    while (!signal.aborted) {
      await this.#sync(signal);
      await this.#pause.wait(jitter(random, period, Jitter), signal);
    }
  }

  /** As long as nobody else writes the lease, one PUT is all. */
  async #sync(signal: AbortSignal): Promise<void> {
    if (this.#latest !== undefined && (await this.#renew(this.#latest, signal))) return;
    if (signal.aborted) return;
    const { lease, created } = await this.#ensure(signal);
    this.#latest = lease;
    if (lease !== undefined && !created) await this.#renew(lease, signal);
  }

  /** The lease that is there, or a new one; undefined while the node, its owner, is not known. Tries until the server answers. */
  async #ensure(signal: AbortSignal): Promise<{ lease: Lease | undefined; created: boolean }> {
    const { api, clock, log, nodeName } = this.#deps;
    for (let delay = FirstRetryMs; !signal.aborted; delay = Math.min(delay * 2, MaxRetryMs)) {
      try {
        return { lease: await getLease(api, nodeName, { signal }), created: false };
      } catch (err) {
        if (isKubeError(err, 'NotFound')) {
          const lease = await this.#create(signal);
          if (lease !== 'failed') return { lease, created: true };
        } else if (!signal.aborted) log.error(err, 'Failed to ensure lease exists, will retry', { intervalMilliseconds: delay });
      }
      await clock.sleep(delay, signal).catch(() => undefined);
    }
    return { lease: undefined, created: false };
  }

  async #create(signal: AbortSignal): Promise<Lease | undefined | 'failed'> {
    const { api, log, nodeUid } = this.#deps;
    if (nodeUid() === undefined) return undefined;
    try {
      const lease = await createLease(api, this.#lease(undefined), { signal });
      this.#renewed();
      return lease;
    } catch (err) {
      if (!signal.aborted) log.error(err, 'Failed to create the lease, will retry');
      return 'failed';
    }
  }

  async #renew(base: Lease, signal: AbortSignal): Promise<boolean> {
    const { api, log, nodeName, repeatedFailure } = this.#deps;
    let lease = base;
    for (let tries = 0; tries < UpdateTries && !signal.aborted; tries++) {
      try {
        this.#latest = await updateLease(api, this.#lease(lease), { signal });
        this.#renewed();
        return true;
      } catch (err) {
        if (signal.aborted) return false;
        log.error(err, 'Failed to update lease');
        if (isKubeError(err, 'NotFound')) return false;
        if (isKubeError(err, 'Conflict')) {
          const fresh = await getLease(api, nodeName, { signal }).catch(() => undefined);
          if (fresh === undefined) return false;
          lease = fresh;
        } else if (tries > 0) repeatedFailure();
      }
    }
    return false;
  }

  #renewed(): void {
    this.#renewedAt = this.#deps.clock.monotonic();
    this.#first.resolve();
  }

  /** `base`, or a new lease, renewed now and owned by the node where it had no owner. */
  #lease(base: Lease | undefined): Lease {
    const { nodeName, durationSeconds, clock, nodeUid } = this.#deps;
    const renewTime = formatMicroTime(BigInt(Math.floor(clock.now() * 1000)) * 1000n);
    const uid = nodeUid();
    const owned = (base?.metadata.ownerReferences ?? []).length > 0 || uid === undefined;
    const owner = owned ? {} : { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid }] };
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...(base?.metadata ?? { name: nodeName, namespace: NodeLeaseNamespace }), ...owner },
      spec: { holderIdentity: nodeName, ...base?.spec, leaseDurationSeconds: durationSeconds, renewTime },
    };
  }
}
