import type { Clock } from '../host/clock.ts';
import { Rounds } from '../host/rounds.ts';
import type { Logger } from '../observe/log.ts';
import type { Health } from '../observe/service.ts';

/** Contract node.md §11: so long an agent goes on without a valid client certificate. */
const PATIENCE_MS = 5 * 60_000;
const LOOK_MS = 10_000;

/** Ends an agent that the API server no longer knows: a new start asks for a certificate with the bootstrap credentials. */
export class ClientExpiry extends Rounds {
  override readonly name = 'client-certificate-expiry';
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #lost = Promise.withResolvers<never>();
  #until: number | undefined;
  #invalidSince: number | undefined;

  /** `until` is the end of the first certificate, wall-clock milliseconds; undefined when there is none yet. */
  constructor(clock: Clock, log: Logger, until: number | undefined) {
    super(clock);
    this.#clock = clock;
    this.#log = log;
    this.#until = until;
    this.#lost.promise.catch(() => {});
  }

  /** Rejects once patience is over; never resolves. */
  get lost(): Promise<never> {
    return this.#lost.promise;
  }

  /** There is a certificate that holds until then. */
  validUntil(until: number): void {
    this.#until = until;
    this.#invalidSince = undefined;
  }

  override health(): Health {
    return this.#invalidSince === undefined ? { ok: true } : { ok: false, reason: 'there is no valid client certificate' };
  }

  protected override async round(): Promise<number> {
    this.#look();
    return LOOK_MS;
  }

  #look(): void {
    const now = this.#clock.monotonic();
    if (this.#until !== undefined && this.#clock.now() < this.#until) {
      this.#invalidSince = undefined;
      return;
    }
    if (this.#invalidSince === undefined) {
      this.#invalidSince = now;
      // Without any certificate yet another way to authenticate is in use.
      if (this.#until !== undefined)
        this.#log.warn('The client certificate has ended and none has taken its place', { patienceSeconds: PATIENCE_MS / 1000 });
    }
    if (now - this.#invalidSince < PATIENCE_MS) return;
    this.#lost.reject(
      new Error(`no valid client certificate for ${PATIENCE_MS / 60_000} minutes: ending, so that the next start asks for a new one`),
    );
  }
}
