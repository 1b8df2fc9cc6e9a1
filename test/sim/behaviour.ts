/** What a container's process does. It lives in the container's command, so it travels with the pod. */
export interface Behaviour {
  /** Milliseconds after its start at which it exits by itself; it runs for ever when missing. */
  runMs?: number;
  /** Exit codes of attempt 0, 1, ...; the last one repeats. 0 when missing. */
  exitCodes?: readonly number[];
  /** Runs for ever from this attempt on: a container that recovers after crashes. */
  recoversAt?: number;
  /** Milliseconds from SIGTERM to the exit; `ignore` leaves it to SIGKILL. 5 when missing. */
  term?: number | 'ignore';
  /** The code of an exit by SIGTERM; 143 when missing. */
  termCode?: number;
  /** CreateContainer fails with this text. */
  createError?: string;
  /** StartContainer fails with this text, and the container is left exited with 128. */
  startError?: string;
}

const word = 'sim';

/** The command of a container that behaves as told. */
export function simCommand(b: Behaviour): string[] {
  const out = [word];
  if (b.runMs !== undefined) out.push(`run=${b.runMs}`);
  if (b.exitCodes !== undefined) out.push(`exit=${b.exitCodes.join(',')}`);
  if (b.recoversAt !== undefined) out.push(`recovers=${b.recoversAt}`);
  if (b.term !== undefined) out.push(`term=${b.term}`);
  if (b.termCode !== undefined) out.push(`termcode=${b.termCode}`);
  if (b.createError !== undefined) out.push(`createerror=${b.createError}`);
  if (b.startError !== undefined) out.push(`starterror=${b.startError}`);
  return out;
}

/** Reads a command that `simCommand` wrote; any other command runs for ever and obeys SIGTERM. */
export function behaviourOf(command: readonly string[]): Behaviour {
  const b: Behaviour = {};
  if (command[0] !== word) return b;
  for (const arg of command.slice(1)) {
    const at = arg.indexOf('=');
    const value = arg.slice(at + 1);
    switch (arg.slice(0, at)) {
      case 'run':
        b.runMs = Number(value);
        break;
      case 'exit':
        b.exitCodes = value.split(',').map(Number);
        break;
      case 'recovers':
        b.recoversAt = Number(value);
        break;
      case 'term':
        b.term = value === 'ignore' ? 'ignore' : Number(value);
        break;
      case 'termcode':
        b.termCode = Number(value);
        break;
      case 'createerror':
        b.createError = value;
        break;
      case 'starterror':
        b.startError = value;
        break;
      default:
        throw new Error(`unknown word in a simulated command: ${arg}`);
    }
  }
  return b;
}

/** How this attempt of the container ends by itself; undefined when it runs for ever. */
export function ownEnd(b: Behaviour, attempt: number): { afterMs: number; exitCode: number } | undefined {
  if (b.runMs === undefined || (b.recoversAt !== undefined && attempt >= b.recoversAt)) return undefined;
  const codes = b.exitCodes ?? [0];
  return { afterMs: b.runMs, exitCode: codes[Math.min(attempt, codes.length - 1)] ?? 0 };
}
