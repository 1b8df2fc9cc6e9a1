import { execFile } from 'node:child_process';

export interface ProgramRun {
  /** An absolute path: nothing is looked up. */
  file: string;
  /** Handed over as they are; there is no shell. */
  args: readonly string[];
  /** The whole environment. */
  env: Readonly<Record<string, string | undefined>>;
  /** Its standard input. */
  input: string;
  /** Bytes of standard output and of standard error that are taken. */
  maxOutput: number;
  signal: AbortSignal;
}

/** A program could not be started, failed, or was ended. `stderr` is what it said. */
export class ProgramError extends Error {
  override readonly name = 'ProgramError';
  readonly stderr: string;

  constructor(message: string, stderr: string, cause: unknown) {
    super(message, { cause });
    this.stderr = stderr;
  }
}

/** Runs a program to its end; gives its standard output. Rejects with ProgramError; killed when `signal` aborts. */
export function runProgram({ file, args, env, input, maxOutput, signal }: ProgramRun): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      file,
      [...args],
      { env: { ...env }, signal, maxBuffer: maxOutput, killSignal: 'SIGKILL', encoding: 'utf8' },
      (err, stdout, stderr) => {
        if (err === null) resolve(stdout);
        else reject(new ProgramError(reasonOf(err, signal, maxOutput), stderr, err));
      },
    );
    // A program that does not read its input is no failure.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

function reasonOf(err: { code?: unknown; signal?: unknown }, { aborted, reason }: AbortSignal, maxOutput: number): string {
  if (aborted) return reason instanceof Error ? reason.message : 'aborted';
  if (err.code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return `more than ${maxOutput} bytes of output`;
  if (typeof err.code === 'number') return `exit status ${err.code}`;
  if (typeof err.signal === 'string') return `ended by ${err.signal}`;
  return typeof err.code === 'string' ? `cannot be started: ${err.code}` : 'failed';
}
