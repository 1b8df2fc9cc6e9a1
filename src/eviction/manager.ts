import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import type { StatusOverride } from '../pods/lifecycle.ts';
import type { Summary } from '../stats/summary-types.ts';
import { decide, type EvictionState, initialState } from './decide.ts';
import { hasLocalStorageLimit } from './local-storage.ts';
import { describeThreshold, type Pressure, starvedResource, thresholdsMet } from './observations.ts';
import { type Eviction, type EvictionPlanInput, localStorageEvictions, thresholdEviction } from './plan.ts';
import type { RuntimeDisks } from './ranking.ts';
import { type NodeReclaim, nodeReclaim } from './reclaim.ts';
import { observationsOf, podUsages } from './summary.ts';
import { type Signal, type Threshold, withContainerFs } from './thresholds.ts';

/** The pods of this node, as eviction deals with them. */
export interface EvictionPods {
  /** Those that are not over. */
  active(): readonly Pod[];
  /** Resolves when no container of the pod runs any more; rejects when that takes too long. */
  kill(pod: Pod, options: { graceSeconds: number; status: StatusOverride }, signal: AbortSignal): Promise<void>;
  /** Nothing of the pod is left on the node. */
  isCleanedUp(pod: Pod): boolean;
}

export interface EvictionPolicy {
  thresholds: readonly Threshold[];
  /** How long a pressure is shown after it was seen last. Milliseconds. */
  transitionMs: number;
  /** evictionMaxPodGracePeriod, seconds. */
  maxPodGraceSeconds: number;
  /** localStorageCapacityIsolation: pods are held to their own limits of the disk. */
  localStorage: boolean;
}

export interface EvictionMetrics {
  /** kubelet_evictions. */
  evicted(signal: string): void;
  /** kubelet_eviction_stats_age_seconds. */
  statsAge(signal: string, seconds: number): void;
}

export interface EvictionManagerDeps {
  clock: Clock;
  log: Logger;
  events: EventRecorder;
  node: EventObject;
  policy: EvictionPolicy;
  /** What the node and its pods use, measured now. */
  summary(withPods: boolean): Promise<Summary>;
  /** Which file systems the runtime has; undefined while it does not tell. */
  disks(): Promise<RuntimeDisks | undefined>;
  pods: EvictionPods;
  /** Gives up what no pod needs. */
  reclaim: Readonly<Record<NodeReclaim, (signal: AbortSignal) => Promise<void>>>;
  metrics: EvictionMetrics;
  /** The pressures changed. */
  pressed(pressures: ReadonlySet<Pressure>): void;
  /** Words of the kernel about pressure, for the log. */
  stalls?(): Promise<string | undefined>;
}

/** Contract node.md §3: between two looks; how long the next one waits for evicted pods to be gone; how often that is looked at. */
const PeriodMs = 10_000;
const CleanupMs = 30_000;
const CleanupLookMs = 1_000;

/**
 * Watches what the node has left, shows its pressures, and when a threshold is met gives up what no pod needs and then
 * stops pods, one at a time. What is to be done is decided by plain functions (`decide`, `plan`); this does it.
 */
export class EvictionManager implements Service {
  readonly name = 'eviction-manager';
  readonly #deps: EvictionManagerDeps;
  readonly #pause: Pause;
  readonly #first = Promise.withResolvers<void>();
  #loop: Promise<void> = Promise.resolve();
  #state: EvictionState = initialState;
  #pressures: ReadonlySet<Pressure> = new Set();
  #layout: { disks: RuntimeDisks; thresholds: readonly Threshold[] } | undefined;
  #fault: string | undefined;

  constructor(deps: EvictionManagerDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  start(signal: AbortSignal): void {
    const { thresholds, localStorage } = this.#deps.policy;
    if (thresholds.length === 0 && !localStorage) this.#first.resolve();
    else this.#loop = this.#run(signal);
  }

  /** After the first look. */
  ready(): Promise<void> {
    return this.#first.promise;
  }

  health(): Health {
    return this.#fault === undefined ? { ok: true } : { ok: false, reason: `the node cannot be measured: ${this.#fault}` };
  }

  async stop(): Promise<void> {
    await this.#loop;
  }

  /** Look now: memory may be short. */
  poke(): void {
    this.#pause.poke();
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const evicted = await this.#look(signal);
      this.#first.resolve();
      if (evicted.length > 0) await this.#cleanedUp(evicted, signal);
      else await this.#pause.wait(PeriodMs, signal);
    }
  }

  /** One look; gives the pods that were evicted. Never rejects. */
  async #look(signal: AbortSignal): Promise<readonly Pod[]> {
    try {
      const evicted = await this.#synchronize(signal);
      this.#fault = undefined;
      return evicted;
    } catch (err) {
      if (!signal.aborted) {
        this.#fault = err instanceof Error ? err.message : String(err);
        this.#deps.log.error(err, 'Eviction manager: failed to look at the node');
      }
      return [];
    }
  }

  async #synchronize(signal: AbortSignal): Promise<readonly Pod[]> {
    const { clock, log, events, node, policy, metrics, pods } = this.#deps;
    const layout = await this.#readLayout();
    if (layout === undefined) return [];
    const active = pods.active();
    const isLimited = policy.localStorage && active.some(hasLocalStorageLimit);
    const summary = await this.#deps.summary(isLimited);
    const observations = observationsOf(summary);
    const { state, pressures, act } = decide(this.#state, layout.thresholds, observations, clock.monotonic(), policy.transitionMs);
    this.#state = state;
    this.#show(pressures);

    // To measure every container takes long on a full node: only when it counts.
    const usages = podUsages(isLimited || act.length === 0 ? summary : await this.#deps.summary(true));
    const plan: EvictionPlanInput = { pods: active, usageOf: (pod) => usages.get(pod.metadata.uid), disks: layout.disks };
    if (policy.localStorage) {
      const faults = localStorageEvictions(plan);
      for (const fault of faults) await this.#evict(fault, signal);
      if (faults.length > 0) return faults.map(({ pod }) => pod);
    }
    const [threshold, ...more] = act;
    if (threshold === undefined) return [];
    const resource = starvedResource(threshold.signal);
    const values = { threshold: describeThreshold(threshold, observations), resourceName: resource };
    log.warn('Eviction manager: attempting to reclaim', { ...values, stalls: await this.#deps.stalls?.() });
    events.event(node, 'Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resource}`);
    if (await this.#reclaimNode(threshold.signal, layout, signal)) {
      log.info('Eviction manager: able to reduce resource pressure without evicting pods.', values);
      return [];
    }
    for (const [signalName, { atMs }] of observations) metrics.statsAge(signalName, Math.max(0, clock.now() - atMs) / 1000);
    const eviction = thresholdEviction([threshold, ...more], plan, observations, policy.maxPodGraceSeconds);
    if (eviction === undefined) {
      log.info('Eviction manager: unable to evict any pods from the node', values);
      return [];
    }
    await this.#evict(eviction, signal);
    return [eviction.pod];
  }

  /** Which file systems there are is asked until it is known, then never again. */
  async #readLayout() {
    const { disks, policy, log } = this.#deps;
    if (this.#layout !== undefined) return this.#layout;
    const found = await disks();
    if (found === undefined) {
      log.debug(2, 'Eviction manager: the runtime does not tell its file systems yet');
      return undefined;
    }
    const { thresholds, ignored } = withContainerFs(policy.thresholds, { imageFs: found.imageFs, separate: found.splitImageFs });
    for (const signal of ignored) log.warn('Eviction manager: this threshold is ignored, it follows from the others', { signal });
    this.#layout = { disks: found, thresholds };
    return this.#layout;
  }

  #show(pressures: ReadonlySet<Pressure>): void {
    const before = this.#pressures;
    this.#pressures = pressures;
    if (pressures.size === before.size && [...pressures].every((pressure) => before.has(pressure))) return;
    this.#deps.log.info('Eviction manager: the pressures of the node changed', { pressures: [...pressures], before: [...before] });
    this.#deps.pressed(pressures);
  }

  /** True when what was given up is enough for every threshold and its minimum reclaim. */
  async #reclaimNode(
    signalName: Signal,
    { disks, thresholds }: { disks: RuntimeDisks; thresholds: readonly Threshold[] },
    signal: AbortSignal,
  ) {
    const { reclaim, log, summary } = this.#deps;
    const steps = nodeReclaim(signalName, disks);
    for (const step of steps) {
      try {
        log.info('Eviction manager: attempting to delete what no pod needs', { what: step, signal: signalName });
        await reclaim[step](signal);
      } catch (err) {
        signal.throwIfAborted();
        log.warn('Eviction manager: unexpected error when attempting to reduce pressure', { what: step, err: String(err) });
      }
    }
    if (steps.length === 0) return false;
    return thresholdsMet(thresholds, observationsOf(await summary(false)), true).length === 0;
  }

  async #evict({ pod, signal: label, graceSeconds, message, annotations, isDisruption }: Eviction, signal: AbortSignal): Promise<void> {
    const { events, log, metrics, pods } = this.#deps;
    const about = { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, podUID: pod.metadata.uid };
    events.event(podEventObject(pod), 'Warning', 'Evicted', message, annotations);
    metrics.evicted(label);
    const disruption = isDisruption ? { disruption: { reason: 'TerminationByKubelet', message } } : {};
    try {
      await pods.kill(pod, { graceSeconds, status: { phase: 'Failed', reason: 'Evicted', message, ...disruption } }, signal);
      log.info('Eviction manager: pod is evicted successfully', { ...about, signal: label, message });
    } catch (err) {
      signal.throwIfAborted();
      log.error(err, 'Eviction manager: pod failed to evict', about);
    }
  }

  /** What evicted pods held must be free before the next look, or too many would go. */
  async #cleanedUp(evicted: readonly Pod[], signal: AbortSignal): Promise<void> {
    const { clock, pods, log } = this.#deps;
    const end = clock.monotonic() + CleanupMs;
    const names = evicted.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    while (!signal.aborted) {
      if (evicted.every((pod) => pods.isCleanedUp(pod))) {
        log.info('Eviction manager: pods successfully cleaned up', { pods: names });
        return;
      }
      if (clock.monotonic() >= end) {
        log.info('Eviction manager: timed out waiting for pods to be cleaned up', { pods: names });
        return;
      }
      await clock.sleep(CleanupLookMs, signal).catch(() => {});
    }
  }
}
