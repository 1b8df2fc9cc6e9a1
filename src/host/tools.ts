import { execFile } from 'node:child_process';

/** How a program of the host ended. */
export interface ToolResult {
  /** Exit code. */
  code: number;
  stdout: string;
  stderr: string;
}

/** Programs of the host, found on the agent's PATH: the tools of disks, file systems and storage networks. */
export interface Tools {
  /** Rejects when it is not there, was ended, or said too much; an exit code is no failure. */
  run(name: string, args: readonly string[], options?: { timeoutMs?: number }): Promise<ToolResult>;
}

const TimeoutMs = 120_000;
const MaxOutput = 1024 * 1024;

export const nodeTools: Tools = {
  run: (name, args, { timeoutMs = TimeoutMs } = {}) =>
    new Promise((resolve, reject) => {
      const options = { timeout: timeoutMs, killSignal: 'SIGKILL' as const, maxBuffer: MaxOutput, encoding: 'utf8' as const };
      const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' };
      execFile(name, [...args], { ...options, env }, (err, stdout, stderr) => {
        if (err === null) resolve({ code: 0, stdout, stderr });
        else if (typeof err.code === 'number') resolve({ code: err.code, stdout, stderr });
        else if (err.code === 'ENOENT') reject(Object.assign(new Error(`${name} is not installed on this node`), { code: 'ENOENT' }));
        else
          reject(
            new Error(
              `${name} ${err.killed === true ? `was ended after ${timeoutMs / 1000} s` : 'failed'}: ${stderr.trim() || String(err)}`,
            ),
          );
      });
    }),
};
