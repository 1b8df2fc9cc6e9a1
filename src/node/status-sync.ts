import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import { jitter, type Random } from '../host/random.ts';
import type { KubeApi } from '../kube/api.ts';
import { isKubeError } from '../kube/errors.ts';
import { getNode, patchNodeStatus } from '../kube/typed.ts';
import type { Node } from '../kube/types.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import { conditionStatus, type NodeNote, statusNote } from './conditions.ts';
import { type NodeIdentity, withRequiredLabels } from './node-object.ts';
import { nodeChanged, nodePatch } from './node-patch.ts';
import { type NodeFacts, withStatus } from './status.ts';

/** Contract node.md §2. */
const Jitter = 0.04;
const Tries = 5;
const FastPeriodMs = 100;
const FastForMs = 120_000;

export interface NodeStatusSyncDeps {
  /** The heartbeat client: without a limit of requests, with its own deadline. */
  api: KubeApi;
  identity: NodeIdentity;
  clock: Clock;
  random: Random;
  log: Logger;
  updateFrequencyMs: number;
  reportFrequencyMs: number;
  /** Resolves once the runtime has been looked at, so that the first status is no guess. */
  observed(signal: AbortSignal): Promise<void>;
  facts(signal: AbortSignal): Promise<NodeFacts>;
  /** What keeps the node from being Ready now; cheap. */
  notReady(): readonly string[];
  watch: { current(): Node | undefined; seen(node: Node): void };
  registration: { readonly done: boolean; ready(): Promise<void> };
  tell(notes: readonly NodeNote[]): void;
  /** Tells the runtime the pods' address ranges, comma separated. */
  updateRuntimeConfig(podCidrs: string, signal: AbortSignal): Promise<void>;
  /** The second try of a round failed, too: connections may be dead. */
  repeatedFailure(): void;
}

/**
 * Keeps the Node's status as it is: computed every update frequency and whenever the node becomes ready or stops being
 * so, sent when it differs or the report frequency is over. A change that was sent moves the next report by a random
 * time, so that the nodes of a cluster do not come together.
 */
export class NodeStatusSync implements Service {
  readonly name = 'node-status';
  readonly #deps: NodeStatusSyncDeps;
  readonly #pause: Pause;
  readonly #first = Promise.withResolvers<void>();
  #lastReport: number | undefined;
  /** Of the next report, after a change. */
  #delay = 0;
  #ready: boolean | undefined;
  #wasUnschedulable = false;
  #podCidrs = '';
  #rebootTold = false;
  #telling = false;
  #poked = false;
  #signal: AbortSignal | undefined;
  #fault: string | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: NodeStatusSyncDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    this.#loop = this.#run(signal);
  }

  ready(): Promise<void> {
    return this.#first.promise;
  }

  health(): Health {
    return this.#fault === undefined ? { ok: true } : { ok: false, reason: this.#fault };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** Something that readiness hangs on was looked at: a flip is sent at once. */
  check(): void {
    if (this.#ready !== undefined && this.#readyNow() !== this.#ready) this.#pause.poke();
  }

  /** The node is to be looked at now: a condition changed. */
  poke(): void {
    this.#poked = true;
    this.#pause.poke();
  }

  /** The Node's object changed in the API server. */
  nodeChanged(node: Node): void {
    const unschedulable = node.spec?.unschedulable === true;
    if (unschedulable !== this.#wasUnschedulable) {
      this.#wasUnschedulable = unschedulable;
      this.#deps.tell([statusNote(this.#deps.identity.name, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable')]);
    }
    void this.#tellRuntime(node);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, random, observed, registration, updateFrequencyMs } = this.#deps;
    await observed(signal);
    const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    await Promise.race([registration.ready(), ended]);
    const fastUntil = clock.monotonic() + FastForMs;
    let due = clock.monotonic();
    let fast = true;
    while (!signal.aborted) {
      // A round that failed is not taken up by the flip that it did not get through, but at its time.
      if (this.#poked || clock.monotonic() >= due || this.#readyNow() !== this.#ready) {
        this.#poked = false;
        await this.#round(signal);
        due = clock.monotonic() + jitter(random, updateFrequencyMs, Jitter);
      }
      if (fast && this.#isReadyThere()) fast = false;
      else if (fast && clock.monotonic() >= fastUntil) {
        fast = false;
        this.#deps.log.error(undefined, 'Node not becoming ready in time after startup');
      }
      const left = Math.max(1, due - clock.monotonic());
      await this.#pause.wait(fast ? Math.min(FastPeriodMs, left) : left, signal);
    }
  }

  #readyNow(): boolean {
    return this.#deps.notReady().length === 0;
  }

  #isReadyThere(): boolean {
    return conditionStatus(this.#deps.watch.current()?.status?.conditions, 'Ready') === 'True';
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { log, repeatedFailure } = this.#deps;
    this.#ready = this.#readyNow();
    for (let tries = 0; tries < Tries && !signal.aborted; tries++) {
      try {
        await this.#update(tries, signal);
        this.#fault = undefined;
        this.#first.resolve();
        return;
      } catch (err) {
        if (signal.aborted) return;
        this.#fault = `the node's status is not written: ${err instanceof Error ? err.message : String(err)}`;
        log.error(err, 'Error updating node status, will retry', { try: tries });
        // Nothing to write on: the object was deleted, and nobody but its owner makes it again.
        if (isKubeError(err, 'NotFound')) return;
        if (tries > 0) repeatedFailure();
      }
    }
    log.error(undefined, 'Unable to update node status', { tries: Tries });
  }

  /** The first try starts from what the watch knows, the others ask the server. */
  async #update(tries: number, signal: AbortSignal): Promise<void> {
    const { api, identity, clock, random, watch, facts, reportFrequencyMs } = this.#deps;
    const original = tries === 0 ? watch.current() : await getNode(api, identity.name, { signal });
    if (original === undefined) throw new Error(`the node "${identity.name}" is not known`);
    if (tries > 0) watch.seen(original);
    void this.#tellRuntime(original);
    const observed = await facts(signal);
    const { node, notes } = withStatus(withRequiredLabels(original, identity), observed);
    const changed = nodeChanged(original, node);
    const age = clock.monotonic() - (this.#lastReport ?? Number.NEGATIVE_INFINITY);
    if (!changed && age < reportFrequencyMs + this.#delay) return;
    const delay = changed || this.#lastReport === undefined ? reportFrequencyMs * (random.float() - 0.5) : 0;
    const patch = nodePatch(original, node);
    // Within the second that the last one was sent in there is nothing new to tell.
    if (patch !== undefined) watch.seen(await patchNodeStatus(api, identity.name, patch, { signal }));
    this.#lastReport = clock.monotonic();
    this.#delay = delay;
    this.#tell(notes);
  }

  #tell(notes: readonly NodeNote[]): void {
    const told = notes.filter((note) => note.reason !== 'Rebooted' || !this.#rebootTold);
    if (told.some((note) => note.reason === 'Rebooted')) this.#rebootTold = true;
    if (told.length > 0) this.#deps.tell(told);
  }

  async #tellRuntime({ spec }: Node): Promise<void> {
    const { updateRuntimeConfig, log } = this.#deps;
    const cidrs = (spec?.podCIDRs ?? (spec?.podCIDR === undefined ? [] : [spec.podCIDR])).join(',');
    if (cidrs === '' || cidrs === this.#podCidrs || this.#telling || this.#signal === undefined) return;
    this.#telling = true;
    try {
      await updateRuntimeConfig(cidrs, this.#signal);
      log.info('Updating Pod CIDR', { originalPodCIDR: this.#podCidrs, newPodCIDR: cidrs });
      this.#podCidrs = cidrs;
    } catch (err) {
      if (!this.#signal.aborted) log.error(err, 'Error updating pod CIDR', { podCIDR: cidrs });
    } finally {
      this.#telling = false;
    }
  }
}
