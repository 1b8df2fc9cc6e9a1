import { CriError } from '../../src/cri/errors.ts';
import type { CallOptions } from '../../src/cri/types.ts';
import type { Clock } from '../../src/host/clock.ts';
import { Faults } from './faults.ts';
import type { CallTarget, Journal, Operation } from './journal.ts';
import { deadlineMs, type Latency } from './latency.ts';
import type { SimRandom } from './random.ts';

/** What the work of a call gets: its cancellation, and time that passes in it. */
export interface ServerContext {
  /** Aborts when the client goes, the deadline passes or the runtime dies. */
  readonly signal: AbortSignal;
  /** True when the runtime died under the call: nothing is cleaned up then. */
  crashed(): boolean;
  /** Spends `part` (0 to 1) of the call's latency; rejects when the call is cancelled. */
  spend(part: number): Promise<void>;
}

interface Flight {
  op: Operation;
  abort(err: CriError): void;
  crashed: boolean;
}

/**
 * The wire between the agent and the simulated runtime: deadlines, cancellation, latency, faults, the journal, and
 * the runtime being down. A client's answer comes at once when its signal aborts; the server's work learns of it too
 * and cleans up in its own time.
 */
export class Transport {
  readonly faults: Faults;
  readonly journal: Journal;
  latency: Latency;
  #clock: Clock;
  #random: SimRandom;
  #up = true;
  #flights = new Set<Flight>();
  #hung = new Set<() => void>();
  #releases = 0;

  constructor(clock: Clock, random: SimRandom, journal: Journal, latency: Latency) {
    this.#clock = clock;
    this.#random = random;
    this.journal = journal;
    this.latency = latency;
    this.faults = new Faults(random.fork('faults'));
  }

  get up(): boolean {
    return this.#up;
  }

  start(): void {
    this.#up = true;
  }

  /** The runtime's process ends: calls under way break off, new ones find nobody. */
  stop(): void {
    this.#up = false;
    for (const flight of this.#flights) {
      flight.crashed = true;
      flight.abort(new CriError('Unavailable', flight.op, 'error reading from server: EOF'));
    }
  }

  /** Calls that hang by a fault fail now. */
  releaseHung(): void {
    this.#releases++;
    for (const release of [...this.#hung]) release();
  }

  /** The client's process ends: the server sees its calls cancelled. */
  dropClients(): void {
    this.journal.drop(this.#clock.monotonic());
    for (const flight of this.#flights) flight.abort(new CriError('Canceled', flight.op, 'context canceled'));
  }

  /** One call from the client's side. */
  call<T>(op: Operation, target: CallTarget, opts: CallOptions | undefined, work: (ctx: ServerContext) => Promise<T> | T): Promise<T> {
    const call = this.journal.begin(op, this.#clock.monotonic(), target);
    return new Promise<T>((resolve, reject) => {
      const cancel = new AbortController();
      let open = true;
      const close = () => {
        if (!open) return false;
        open = false;
        deadline?.cancel();
        opts?.signal?.removeEventListener('abort', onAbort);
        return true;
      };
      const fail = (err: CriError) => {
        if (!close()) return;
        this.journal.end(call, this.#clock.monotonic(), err.code, err.message);
        reject(err);
      };
      const flight: Flight = {
        op,
        crashed: false,
        abort: (err) => {
          fail(err);
          cancel.abort(err);
        },
      };
      const onAbort = () => flight.abort(new CriError('Canceled', op, 'context canceled', opts?.signal?.reason));
      const ms = opts?.timeoutMs ?? deadlineMs(op, target.timeoutSeconds);
      const deadline =
        ms > 0 ? this.#clock.after(ms, () => flight.abort(new CriError('DeadlineExceeded', op, 'context deadline exceeded'))) : undefined;
      opts?.signal?.addEventListener('abort', onAbort, { once: true });
      if (opts?.signal?.aborted) {
        onAbort();
        return;
      }
      this.#flights.add(flight);
      const served = this.#serve(call, flight, cancel.signal, work);
      served
        .then(
          (value) => {
            if (!close()) return;
            this.journal.end(call, this.#clock.monotonic(), 'ok');
            resolve(value);
          },
          (err: unknown) =>
            fail(err instanceof CriError ? err : new CriError('Unknown', op, err instanceof Error ? err.message : String(err), err)),
        )
        .finally(() => this.#flights.delete(flight));
    });
  }

  /** A call without stages: it takes its time, then answers. */
  simple<T>(op: Operation, target: CallTarget, opts: CallOptions | undefined, answer: () => T): Promise<T> {
    return this.call(op, target, opts, async (ctx) => {
      await ctx.spend(1);
      return answer();
    });
  }

  async #serve<T>(
    call: Parameters<Faults['strike']>[0],
    flight: Flight,
    signal: AbortSignal,
    work: (ctx: ServerContext) => Promise<T> | T,
  ): Promise<T> {
    if (!this.#up) {
      await this.#clock.sleep(1, signal);
      throw new CriError(
        'Unavailable',
        call.op,
        'connection error: desc = "transport: Error while dialing: dial unix /run/sim/runtime.sock: connect: no such file or directory"',
      );
    }
    const [low, high] = this.latency[call.op];
    const total = this.#random.between(low, high);
    const ctx: ServerContext = {
      signal,
      crashed: () => flight.crashed,
      spend: (part) => this.#clock.sleep(total * part, signal),
    };
    const effect = this.faults.strike(call);
    const releases = this.#releases;
    if (effect?.kind === 'slow') await this.#clock.sleep(effect.ms, signal);
    if (effect && effect.kind !== 'slow' && (effect.when ?? 'before') === 'before') await this.#fail(effect, call.op, ctx);
    const value = await work(ctx);
    if (effect && effect.kind !== 'slow' && releases === this.#releases) await this.#fail(effect, call.op, ctx);
    return value;
  }

  async #fail(
    effect: { kind: 'hang' } | { kind: 'error'; code: CriError['code']; message: string },
    op: Operation,
    ctx: ServerContext,
  ): Promise<never> {
    if (effect.kind === 'error') {
      await ctx.spend(1);
      throw new CriError(effect.code, op, effect.message);
    }
    return new Promise<never>((_, reject) => {
      const end = (err: Error) => {
        this.#hung.delete(release);
        reject(err);
      };
      const release = () => end(new CriError('Unavailable', op, 'the call hung'));
      this.#hung.add(release);
      ctx.signal.addEventListener('abort', () => end(ctx.signal.reason as Error), { once: true });
      if (ctx.signal.aborted) end(ctx.signal.reason as Error);
    });
  }
}
