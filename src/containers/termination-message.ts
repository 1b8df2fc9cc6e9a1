import { TerminationMessagePathAnnotation, TerminationMessagePolicyAnnotation } from '../api/annotations.ts';
import type { ContainerStatus } from '../cri/types.ts';
import { isErrno } from '../host/files.ts';
import type { TailReader } from '../host/tail.ts';
import { parseCriLogLine, splitLines } from './log-format.ts';

/** Bytes read of a termination message file (contract: pod-lifecycle.md §9). */
const maxMessage = 4096;
/** What is taken from the end of the log where the file holds nothing. */
const maxLogMessage = 2048;
const maxLogLines = 80;
/** Runtimes cut lines at 16 KiB: this holds some of the longest ones, or 80 short ones. */
const logWindow = 64 * 1024;

/**
 * What an ended container left to say: its termination message file, else (FallbackToLogsOnError, and it failed) the
 * end of its log. '' when it said nothing or has not ended. Never rejects: what cannot be read is said in the text.
 */
export async function terminationMessage(status: ContainerStatus, files: TailReader): Promise<string> {
  if (status.state !== 'exited') return '';
  const { annotations, mounts } = status;
  const path = annotations[TerminationMessagePathAnnotation] ?? '';
  const inside = path === '' || path.startsWith('/') ? path : `/${path}`;
  const hostPath = inside === '' ? undefined : mounts.find((m) => m.containerPath === inside)?.hostPath;
  if (hostPath !== undefined) {
    try {
      const { data } = await files.readTail(hostPath, maxMessage);
      if (data.length > 0) return data.toString();
    } catch (err) {
      if (!isErrno(err, 'ENOENT')) return `Error on reading termination log ${hostPath}: ${textOf(err)}`;
    }
  }
  // A container that could not even begin has written no log.
  const fallback =
    annotations[TerminationMessagePolicyAnnotation] === 'FallbackToLogsOnError' &&
    status.exitCode !== 0 &&
    status.reason !== 'ContainerCannotRun';
  return fallback ? logEnd(status.logPath, files) : '';
}

/** The runtime's own message with the container's behind it. */
export function joinMessages(runtime: string, container: string): string {
  return runtime !== '' && container !== '' ? `${runtime}: ${container}` : runtime || container;
}

async function logEnd(path: string, files: TailReader): Promise<string> {
  if (path === '') return '';
  try {
    const { data, cut } = await files.readTail(path, logWindow);
    return lastLogText(data, cut);
  } catch (err) {
    return `Error on reading termination message from logs: ${textOf(err)}`;
  }
}

/** The text of the last lines of a log, at most 2048 bytes. `cut`: `data` begins in the middle of the file. */
export function lastLogText(data: Buffer, cut: boolean): string {
  const lines = [...splitLines(data)];
  const whole = cut && lines.length > 1 ? lines.slice(1) : lines;
  const parts: Buffer[] = [];
  for (const line of whole.slice(-maxLogLines)) {
    const parsed = parseCriLogLine(line);
    if (parsed) parts.push(parsed.text, Buffer.from(parsed.partial ? '' : '\n'));
    // The only line of the window has lost its beginning: all of it is text.
    else if (cut && lines.length === 1) parts.push(line);
  }
  const text = Buffer.concat(parts);
  let start = Math.max(0, text.length - maxLogMessage);
  while (start > 0 && start < text.length && ((text[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return text.subarray(start).toString();
}

function textOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
