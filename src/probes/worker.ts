import type { PodUid } from '../api/brands.ts';
import { bareContainerId } from '../api/container-id.ts';
import type { Container, Pod, PodStatus, Probe } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import type { Random } from '../host/random.ts';
import { containerEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import type { ProbeLabels, ProbeMetrics } from './metrics.ts';
import type { ProbeOutcome } from './outcome.ts';
import { HttpTimeout } from './raw-http.ts';
import { judge, type Look, look, newProbeState, type ProbeState } from './rules.ts';
import type { ProbeRunner } from './runner.ts';
import type { Due, Schedule } from './schedule.ts';
import { type ProbeResult, type ProbeTarget, type ProbeType, typeLabel } from './types.ts';

/** Tries of one probe while it gives no result (contract: pod-lifecycle.md §8). */
const TRIES = 3;

export interface ProbeWorkerDeps {
  runner: ProbeRunner;
  schedule: Schedule;
  clock: Clock;
  random: Random;
  log: Logger;
  events: EventRecorder;
  metrics: ProbeMetrics;
  /** `clock.monotonic()` of the agent's start, and the wall-clock time before which a container keeps its state. */
  startedAt: number;
  keepBefore: number;
  status(uid: PodUid): PodStatus | undefined;
}

/** What a worker tells: a result that holds, one that is to be dropped, its own end. Ids are the status's, with `runtime://`. */
export interface ProbeSink {
  set(worker: ProbeWorker, statusId: string, result: ProbeResult): void;
  drop(worker: ProbeWorker, statusId: string): void;
  ended(worker: ProbeWorker): void;
}

/** One probe of one container: wakes every period, looks whether it may probe, probes, counts. */
export class ProbeWorker {
  readonly uid: PodUid;
  readonly pod: Pod;
  readonly container: Container;
  readonly type: ProbeType;
  readonly #spec: Probe;
  readonly #deps: ProbeWorkerDeps;
  readonly #sink: ProbeSink;
  readonly #labels: ProbeLabels;
  readonly #stop = new AbortController();
  #state: ProbeState = newProbeState;
  #due: Due | undefined;
  /** `schedule.now()` of the next tick. */
  #tickAt = 0;
  /** Why the next turn comes: the first one, which the agent's start may delay, a tick, or a poke beside the ticks. */
  #next: 'first' | 'tick' | 'poke' = 'first';
  #isProbing = false;
  #isPoked = false;
  #isOver = false;

  constructor(deps: ProbeWorkerDeps, sink: ProbeSink, uid: PodUid, pod: Pod, container: Container, type: ProbeType, spec: Probe) {
    this.#deps = deps;
    this.#sink = sink;
    this.uid = uid;
    this.pod = pod;
    this.container = container;
    this.type = type;
    this.#spec = spec;
    const { name, namespace } = pod.metadata;
    this.#labels = { probe_type: typeLabel(type), container: container.name, pod: name, namespace, pod_uid: uid };
  }

  start(): void {
    const { clock, random, startedAt } = this.#deps;
    // The probes of all pods of an agent that has just started would come at once.
    const isEarly = clock.monotonic() - startedAt < this.#periodMs;
    this.#wait(isEarly ? random.float() * this.#periodMs : 0, 'first');
  }

  /** Ends it for good; a probe under way is given up. */
  stop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#due?.cancel();
    this.#stop.abort(new Error('the probe was stopped'));
    if (this.#state.statusId !== '') this.#sink.drop(this, this.#state.statusId);
    this.#deps.metrics.removed(this.#labels);
    this.#sink.ended(this);
  }

  /** One more probe, at once; the ticks follow it. */
  poke(): void {
    if (this.#isOver || this.#next === 'first') return;
    if (this.#isProbing) {
      this.#isPoked = true;
      return;
    }
    this.#tickAt = this.#deps.schedule.now() + this.#periodMs;
    this.#wait(0, 'poke');
  }

  get #periodMs(): number {
    return (this.#spec.periodSeconds ?? 10) * 1000;
  }

  #wait(ms: number, next: 'first' | 'tick' | 'poke'): void {
    this.#due?.cancel();
    this.#next = next;
    this.#due = this.#deps.schedule.after(ms, () => void this.#turn());
  }

  async #turn(): Promise<void> {
    const { schedule, log } = this.#deps;
    if (this.#next === 'first') this.#tickAt = schedule.now() + this.#periodMs;
    else if (this.#next === 'tick') this.#tickAt += this.#periodMs;
    this.#next = 'tick';
    try {
      const target = this.#look();
      if (target !== undefined) {
        this.#isProbing = true;
        await this.#probe(target);
      }
    } catch (err) {
      if (!this.#isOver) log.error(err, 'Probe failed within the agent', this.#about());
    }
    this.#isProbing = false;
    if (!this.#isOver) this.#waitForTick();
  }

  #waitForTick(): void {
    const now = this.#deps.schedule.now();
    if (this.#isPoked) {
      this.#isPoked = false;
      this.#tickAt = now + this.#periodMs;
      this.#wait(0, 'poke');
    } else if (this.#tickAt > now) this.#wait(this.#tickAt - now, 'tick');
    else {
      // The probe took longer than the period: one missed tick is made good at once, more are not.
      this.#tickAt += Math.floor((now - this.#tickAt) / this.#periodMs) * this.#periodMs;
      this.#wait(0, 'tick');
    }
  }

  /** Undefined: not now, or never again. */
  #look(): ProbeTarget | undefined {
    const { clock, keepBefore } = this.#deps;
    const { pod, container, type } = this;
    const status = this.#deps.status(this.uid);
    const found = look(this.#state, { pod, container, type, spec: this.#spec, status, now: clock.now(), keepBefore });
    this.#apply(found);
    if (found.next === 'end') this.stop();
    if (found.next !== 'probe') return undefined;
    return { pod, container, type, containerId: bareContainerId(this.#state.statusId), podIp: status?.podIP ?? '' };
  }

  #apply({ state, drop, set }: Pick<Look, 'state' | 'drop' | 'set'>): void {
    this.#state = state;
    if (drop !== undefined) this.#sink.drop(this, drop);
    if (set !== undefined) this.#sink.set(this, state.statusId, set);
  }

  /** Tries until there is a result; without one nothing changes. */
  async #probe(target: ProbeTarget): Promise<void> {
    const { runner, schedule } = this.#deps;
    const began = schedule.now();
    let outcome: ProbeOutcome | undefined;
    let error: unknown;
    for (let i = 0; i < TRIES && outcome === undefined && !this.#isOver; i++) {
      try {
        outcome = await runner.run(target, this.#stop.signal);
      } catch (err) {
        error = err;
      }
    }
    if (this.#isOver) return;
    if (outcome === undefined) this.#errored(error);
    else this.#take(outcome, (schedule.now() - began) / 1000);
  }

  #take(outcome: ProbeOutcome, seconds: number): void {
    const { metrics, log } = this.#deps;
    this.#tell(outcome);
    const result = outcome.result === 'failure' ? 'Failure' : 'Success';
    metrics.probed(this.#labels, result === 'Success', seconds);
    const level = result === 'Success' ? 3 : 1;
    if (log.enabled(level)) log.debug(level, result === 'Success' ? 'Probe succeeded' : 'Probe failed', { ...this.#about(), ...outcome });
    const { state, set } = judge(this.#state, this.#spec, this.type, result);
    this.#state = state;
    if (set !== undefined) this.#sink.set(this, state.statusId, set);
  }

  #errored(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    this.#deps.log.debug(1, 'Probe errored', { ...this.#about(), err: text });
    const state = error instanceof HttpTimeout ? 'failure' : 'unknown';
    this.#event('Unhealthy', `${typeLabel(this.type)} probe errored and resulted in ${state} state: ${text}`);
  }

  #tell({ result, output }: ProbeOutcome): void {
    const label = typeLabel(this.type);
    if (result === 'failure') this.#event('Unhealthy', `${label} probe failed: ${output}`);
    else if (result === 'warning') this.#event('ProbeWarning', `${label} probe warning: ${output}`);
  }

  #event(reason: string, message: string): void {
    this.#deps.events.event(containerEventObject(this.pod, this.container.name), 'Warning', reason, message);
  }

  #about() {
    const { name, namespace } = this.pod.metadata;
    return { probeType: typeLabel(this.type), pod: `${namespace}/${name}`, podUID: this.uid, containerName: this.container.name };
  }
}
