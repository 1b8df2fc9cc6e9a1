/**
 * What is under way on volumes, at most one operation a key: who asks for what is going on already waits for that. One that
 * never ends is so at most one, whatever is tried again.
 */
export class Operations {
  readonly #pending = new Map<string, Promise<unknown>>();

  /** Runs `work`, or joins the one of that key that has not ended. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#pending.get(key);
    if (known !== undefined) return known as Promise<T>;
    const promise = work().finally(() => this.#pending.delete(key));
    this.#pending.set(key, promise);
    return promise;
  }

  /** Keys that begin with `prefix`. */
  pending(prefix: string): string[] {
    return [...this.#pending.keys()].filter((key) => key.startsWith(prefix));
  }

  /** Waits for everything under way whose key begins with `prefix`. Never rejects. */
  async settled(prefix: string): Promise<void> {
    await Promise.allSettled([...this.#pending].filter(([key]) => key.startsWith(prefix)).map(([, promise]) => promise));
  }
}
