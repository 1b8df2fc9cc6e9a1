/** One line of the health report: `ok`, or what is wrong and with which object. */
export type Health = { ok: true } | { ok: false; reason: string };

/** A long-lived part of the agent. The root starts services in dependency order and stops them in reverse. */
export interface Service {
  readonly name: string;
  /** Begins work and returns; the service ends its work when `signal` aborts. */
  start(signal: AbortSignal): Promise<void> | void;
  /** Resolves once the service has done its first useful round. */
  ready(): Promise<void>;
  health(): Health;
  /** Waits for the work under way to end. Called after the signal aborted. */
  stop(): Promise<void>;
}
