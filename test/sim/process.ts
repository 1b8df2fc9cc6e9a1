import { type Clock, sleepWith, type Timer } from '../../src/host/clock.ts';

/**
 * One run of the agent, which can be killed as SIGKILL does: from that instant none of its timers fires and no call
 * it has made or makes ever answers, so not a line of its clean-up runs.
 */
export class SimProcess {
  #alive = true;
  #deaths: (() => void)[] = [];

  get alive(): boolean {
    return this.#alive;
  }

  kill(): void {
    if (!this.#alive) return;
    this.#alive = false;
    for (const fn of this.#deaths) fn();
  }

  /** Calls `fn` when the process dies. */
  onDeath(fn: () => void): void {
    this.#deaths.push(fn);
  }

  /** `port` as this process sees it: answers stop at its death. */
  guard<T extends object>(port: T): T {
    const alive = () => this.#alive;
    return new Proxy(port, {
      get(target, key) {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => {
          if (!alive()) return never();
          const answer: unknown = Reflect.apply(member, target, args);
          if (isThenable(answer)) return whileAlive(answer, alive);
          return isAsyncIterable(answer) ? iterateWhileAlive(answer, alive) : answer;
        };
      },
    });
  }

  /** A clock of this process: its own monotonic origin, and no timer after its death. */
  clock(base: Clock): Clock {
    const origin = base.monotonic();
    const alive = () => this.#alive;
    const view: Clock = {
      now: () => base.now(),
      monotonic: () => base.monotonic() - origin,
      after: (ms, fn, background): Timer => base.after(ms, () => (alive() ? fn() : undefined), background),
      sleep: (ms, signal) => sleepWith(view, ms, signal),
    };
    return view;
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

function whileAlive(answer: PromiseLike<unknown>, alive: () => boolean): Promise<unknown> {
  return new Promise((resolve, reject) => {
    answer.then(
      (value) => {
        if (alive()) resolve(value);
      },
      (err: unknown) => {
        if (alive()) reject(err as Error);
      },
    );
  });
}

async function* iterateWhileAlive(source: AsyncIterable<unknown>, alive: () => boolean): AsyncIterable<unknown> {
  for await (const item of source) {
    if (!alive()) await never();
    yield item;
  }
  if (!alive()) await never();
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
