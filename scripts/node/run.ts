import { type ExecFileException, execFile } from 'node:child_process';

/** What a finished command left. `code` is null when it was ended by a signal or could not be started. */
export interface RunResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Text for standard input. */
  input?: string;
  /** Milliseconds until the command is killed; default 60 s. */
  timeoutMs?: number;
}

/** Distributions keep ip, iptables and runc in sbin, which a user's PATH may lack. */
export const systemPath = [
  ...new Set([...(process.env['PATH'] ?? '').split(':'), '/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin']),
]
  .filter(Boolean)
  .join(':');

/** Runs a command to its end without a shell. Never rejects: a command that cannot start has code null and the reason in stderr. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  return new Promise((resolve) => {
    const child = execFile(
      command,
      [...args],
      {
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        env: { ...process.env, PATH: systemPath, LC_ALL: 'C', ...options.env },
        timeout: options.timeoutMs ?? 60_000,
        killSignal: 'SIGKILL',
        maxBuffer: 64 << 20,
      },
      (error: ExecFileException | null, stdout, stderr) => {
        if (error === null) resolve({ code: 0, stdout, stderr });
        else if (typeof error.code === 'number') resolve({ code: error.code, stdout, stderr });
        else resolve({ code: null, stdout, stderr: stderr === '' ? error.message : stderr });
      },
    );
    child.stdin?.on('error', () => {}); // a command that does not read its input is no error here
    child.stdin?.end(options.input ?? '');
  });
}

/** As `run`, but anything but exit code 0 rejects with the command line and what it said. Resolves with standard output. */
export async function mustRun(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const result = await run(command, args, options);
  if (result.code === 0) return result.stdout;
  const said = (result.stderr.trim() || result.stdout.trim()).slice(-2000);
  throw new Error(
    `${command} ${args.join(' ')} failed (${result.code === null ? 'killed or not started' : `exit ${result.code}`}): ${said}`,
  );
}
