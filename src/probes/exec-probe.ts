import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import { OUTPUT_LIMIT, type ProbeOutcome } from './outcome.ts';
import type { Schedule } from './schedule.ts';

/** So long after a command's time-out the runtime may take to say so; then the probe is judged without it. Milliseconds. */
const LATE_MS = 10_000;

/** Who is probed: a container, by one of its probes. */
export interface ExecTarget {
  containerId: string;
  /** Such as `liveness`. */
  type: string;
}

/** Commands in containers. A command that does not come to its end has failed in time, and is not started beside itself. */
export class ExecProber {
  readonly #runtime: Pick<CriRuntime, 'execSync'>;
  readonly #schedule: Schedule;
  /**
   * Calls that the runtime still holds after their time: a child that keeps the output open is waited for by containerd
   * until the call's own deadline, minutes later. Each holds files of the runtime, so there is one at a time.
   */
  readonly #held = new Set<string>();

  constructor(runtime: Pick<CriRuntime, 'execSync'>, schedule: Schedule) {
    this.#runtime = runtime;
    this.#schedule = schedule;
  }

  /** Runs a command in the container. Rejects when the runtime cannot, or on an abort. */
  run({ containerId, type }: ExecTarget, command: readonly string[], timeoutSeconds: number, signal: AbortSignal): Promise<ProbeOutcome> {
    const key = `${type} ${containerId}`;
    const text = JSON.stringify(command.join(' '));
    const timedOut: ProbeOutcome = { result: 'failure', output: `command timed out: ${text} timed out after ${timeoutSeconds}s` };
    if (this.#held.has(key)) return Promise.resolve(timedOut);
    const late = Promise.withResolvers<ProbeOutcome>();
    const due = this.#schedule.after(timeoutSeconds * 1000 + LATE_MS, () => {
      this.#held.add(key);
      late.resolve(timedOut);
    });
    const answered = this.#exec(containerId, command, timeoutSeconds, signal, timedOut).finally(() => {
      due.cancel();
      this.#held.delete(key);
    });
    return Promise.race([answered, late.promise]);
  }

  async #exec(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    signal: AbortSignal,
    timedOut: ProbeOutcome,
  ): Promise<ProbeOutcome> {
    try {
      const { exitCode, stdout, stderr } = await this.#runtime.execSync(containerId, [...command], timeoutSeconds, { signal });
      return { result: exitCode === 0 ? 'success' : 'failure', output: beginning([stdout, stderr]) };
    } catch (err) {
      if (signal.aborted || !isCriError(err, 'DeadlineExceeded')) throw err;
      return timedOut;
    }
  }
}

/** The first bytes of all of them, one behind the other. */
function beginning(parts: readonly Uint8Array[]): string {
  let room = OUTPUT_LIMIT;
  const kept: Uint8Array[] = [];
  for (const part of parts) {
    kept.push(part.subarray(0, room));
    room -= Math.min(room, part.length);
  }
  return Buffer.concat(kept).toString();
}
