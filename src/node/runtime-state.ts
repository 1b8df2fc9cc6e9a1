import type { CriRuntime } from '../cri/ports.ts';
import type { RuntimeCondition, RuntimeStatus } from '../cri/types.ts';
import type { Clock } from '../host/clock.ts';
import { Pause } from '../host/pause.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';

/** Contract node.md §2: asked every 5 s, "down" after 30 s without an answer. */
const PERIOD_MS = 5_000;
const SUSPECT_PERIOD_MS = 500;
const DOWN_AFTER_MS = 30_000;
/** A suspicion that Status does not confirm wakes everybody at most so often: else one call that always fails would be a storm. */
const UNCONFIRMED_WAKE_MS = 10_000;
/** A runtime that is not ready yet when the agent starts is asked so often, for so long (contract: node.md §2, fast start). */
const START_PERIOD_MS = 100;
const START_FOR_MS = 120_000;

export interface RuntimeStateDeps {
  runtime: Pick<CriRuntime, 'status'>;
  clock: Clock;
  log: Logger;
  /** The runtime answers again, or its network became ready. */
  recovered(): void;
  /** Called after every question, answered or not. */
  asked?(): void;
}

/** What the runtime says of itself: whether it answers, and whether its network is ready. */
export class RuntimeState implements Service {
  readonly name = 'runtime-state';
  readonly #deps: RuntimeStateDeps;
  readonly #pause: Pause;
  readonly #first = Promise.withResolvers<void>();
  #loop: Promise<void> = Promise.resolve();
  #status: RuntimeStatus | undefined;
  #lastAnswer: number | undefined;
  /** The last answer that called the runtime itself ready. */
  #lastReady: number | undefined;
  #wasReady = false;
  #suspect = false;
  /** The last Status failed. */
  #failing = false;
  #lastWake: number | undefined;
  #startedAt = 0;

  constructor(deps: RuntimeStateDeps) {
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

  async stop(): Promise<void> {
    await this.#loop;
  }

  health(): Health {
    const reason = this.runtimeNotReady();
    return reason === undefined ? { ok: true } : { ok: false, reason };
  }

  /** A call found the runtime away: ask often, so that its return is seen at once. */
  suspect(): void {
    if (this.#suspect) return;
    this.#suspect = true;
    this.#pause.poke();
  }

  /** The last answer; undefined before the first one. */
  status(): RuntimeStatus | undefined {
    return this.#status;
  }

  /** What keeps the node from being Ready (contract: events.md §8): answers that are missing, the runtime, its network. */
  faults(): { answers: string[]; runtime: string[]; network: string[] } {
    const answers: string[] = [];
    if (this.#lastReady === undefined) answers.push('container runtime status check may not have completed yet');
    else if (this.#deps.clock.monotonic() - this.#lastReady >= DOWN_AFTER_MS) answers.push('container runtime is down');
    if (this.#status === undefined) return { answers, runtime: [], network: ['network state unknown'] };
    const fault = (what: string, type: string) => {
      const condition = this.#status?.conditions.find((c) => c.type === type);
      return condition?.status === true ? [] : [`${what} not ready: ${conditionText(condition)}`];
    };
    return {
      answers,
      runtime: fault('container runtime', 'RuntimeReady'),
      network: fault('container runtime network', 'NetworkReady'),
    };
  }

  /** Undefined when the network is ready, else the runtime's reason (contract: compat-matrix §4). */
  notReady(): string | undefined {
    if (this.#status === undefined) return 'network state unknown';
    const network = this.#status.conditions.find((c) => c.type === 'NetworkReady');
    if (network === undefined) return 'runtime did not report a NetworkReady condition';
    if (network.status) return undefined;
    return `container runtime network not ready: NetworkReady=false reason:${network.reason} message:${network.message}`;
  }

  /** Undefined when the runtime is ready, else why it is not. */
  runtimeNotReady(): string | undefined {
    const age = this.#deps.clock.monotonic() - (this.#lastAnswer ?? this.#startedAt);
    if (age > DOWN_AFTER_MS) return 'container runtime is down';
    const ready = this.#status?.conditions.find((c) => c.type === 'RuntimeReady');
    if (this.#status === undefined) return 'container runtime status check may not have completed yet';
    if (ready?.status === true) return undefined;
    return `container runtime not ready: RuntimeReady=false reason:${ready?.reason ?? ''} message:${ready?.message ?? ''}`;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#ask(signal);
      if (signal.aborted) return;
      this.#deps.asked?.();
      await this.#pause.wait(this.#period(), signal);
    }
  }

  #period(): number {
    this.#wasReady ||= this.#status !== undefined && this.notReady() === undefined && this.runtimeNotReady() === undefined;
    if (!this.#wasReady && this.#deps.clock.monotonic() - this.#startedAt < START_FOR_MS) return START_PERIOD_MS;
    return this.#suspect ? SUSPECT_PERIOD_MS : PERIOD_MS;
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { runtime, clock, log, recovered } = this.#deps;
    const wasAway = this.#status === undefined || this.#failing || this.notReady() !== undefined;
    const wasSuspect = this.#suspect;
    try {
      this.#status = await runtime.status({ signal });
      const now = clock.monotonic();
      this.#lastAnswer = now;
      if (this.#status.conditions.some((c) => c.type === 'RuntimeReady' && c.status)) this.#lastReady = now;
      this.#suspect = false;
      this.#failing = false;
      this.#first.resolve();
      const unconfirmed = wasSuspect && now - (this.#lastWake ?? Number.NEGATIVE_INFINITY) >= UNCONFIRMED_WAKE_MS;
      if (this.notReady() !== undefined || !(wasAway || unconfirmed)) return;
      this.#lastWake = now;
      recovered();
    } catch (err) {
      if (signal.aborted) return;
      if (!this.#suspect) log.error(err, 'Container runtime sanity check failed');
      this.#suspect = true;
      this.#failing = true;
    }
  }
}

/** As the real kubelet prints one; an absent one as Go prints nil. */
function conditionText(condition: RuntimeCondition | undefined): string {
  if (condition === undefined) return '<nil>';
  return `${condition.type}=${condition.status} reason:${condition.reason} message:${condition.message}`;
}
