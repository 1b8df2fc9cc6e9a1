import type { Clock, Timer } from '../host/clock.ts';

/** An AbortSignal that aborts with its parent, or when its time has run out. To be disposed of when the work is done. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal | undefined;
  readonly #timer: Timer | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#parent?.reason);
  #expired = false;

  /** `timeoutMs` 0: only the parent ends it. */
  constructor(clock: Pick<Clock, 'after'>, parent: AbortSignal | undefined, timeoutMs: number) {
    this.#parent = parent;
    if (parent?.aborted) this.#onAbort();
    else parent?.addEventListener('abort', this.#onAbort, { once: true });
    if (timeoutMs > 0) this.#timer = clock.after(timeoutMs, () => this.expire(), true);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time ran out before anything else ended the work. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Ends the work as if its time had run out. */
  expire(): void {
    if (this.#controller.signal.aborted) return;
    this.#expired = true;
    this.#controller.abort(new Error('deadline exceeded'));
  }

  /** Takes the limit of time away; the parent still ends the work. */
  extend(): void {
    this.#timer?.cancel();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#parent?.removeEventListener('abort', this.#onAbort);
  }
}
