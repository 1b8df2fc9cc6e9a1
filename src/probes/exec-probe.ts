import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import { OUTPUT_LIMIT, type ProbeOutcome } from './outcome.ts';

/** Runs a command in the container. Rejects when the runtime cannot, or on an abort. */
export async function execProbe(
  runtime: Pick<CriRuntime, 'execSync'>,
  containerId: string,
  command: readonly string[],
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  try {
    const { exitCode, stdout, stderr } = await runtime.execSync(containerId, [...command], timeoutSeconds, { signal });
    const output = beginning([stdout, stderr]);
    return { result: exitCode === 0 ? 'success' : 'failure', output };
  } catch (err) {
    if (signal.aborted || !isCriError(err, 'DeadlineExceeded')) throw err;
    const text = JSON.stringify(command.join(' '));
    return { result: 'failure', output: `command timed out: ${text} timed out after ${timeoutSeconds}s` };
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
