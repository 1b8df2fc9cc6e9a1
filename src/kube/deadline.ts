import type { Clock, Timer } from '../host/clock.ts';

/** An AbortSignal that aborts with its parent, or when its time has run out. To be disposed of when the work is done. */
export class Deadline implements Disposable {
  readonly #clock: Pick<Clock, 'after' | 'monotonic'>;
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  #timeoutMs: number;
  readonly #onAbort = () => this.#controller.abort(this.#parent?.reason);
  #timer: Timer | undefined;
  #from: number;
  #expired = false;

  /** `timeoutMs` 0: only the parent ends it. */
  constructor(clock: Pick<Clock, 'after' | 'monotonic'>, parent: AbortSignal | undefined, timeoutMs: number) {
    this.#clock = clock;
    this.#parent = parent;
    this.#timeoutMs = timeoutMs;
    this.#from = clock.monotonic();
    if (parent?.aborted) this.#onAbort();
    else parent?.addEventListener('abort', this.#onAbort, { once: true });
    if (timeoutMs > 0) this.#arm(timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time ran out before anything else ended the work. */
  get expired(): boolean {
    return this.#expired;
  }

  /** The time counts from now again; `timeoutMs` changes how much there is. */
  restart(timeoutMs = this.#timeoutMs): void {
    this.#from = this.#clock.monotonic();
    if (timeoutMs === this.#timeoutMs) return;
    this.#timeoutMs = timeoutMs;
    this.#timer?.cancel();
    this.#arm(timeoutMs);
  }

  /** Takes the limit of time away; the parent still ends the work. */
  lift(): void {
    this.#timer?.cancel();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#parent?.removeEventListener('abort', this.#onAbort);
  }

  /** One timer for any number of restarts: it looks when it fires. */
  #arm(ms: number): void {
    this.#timer = this.#clock.after(
      ms,
      () => {
        const left = this.#timeoutMs - (this.#clock.monotonic() - this.#from);
        if (left > 0) this.#arm(left);
        else if (!this.#controller.signal.aborted) {
          this.#expired = true;
          this.#controller.abort(new Error('deadline exceeded'));
        }
      },
      true,
    );
  }
}
