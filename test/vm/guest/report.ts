import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

/** One check: throws when it fails, and may return a text of what was seen. */
type Check = () => Promise<unknown>;

/** Runs a check and prints its result on one line. A failed one does not end the rest. */
export async function check(name: string, work: Check): Promise<boolean> {
  const began = performance.now();
  const took = () => `${((performance.now() - began) / 1000).toFixed(1)} s`;
  try {
    const seen = await work();
    process.stdout.write(`ok - ${name} # ${[...(typeof seen === 'string' ? [seen] : []), took()].join('; ')}\n`);
    return true;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    process.stdout.write(`not ok - ${name} # ${text.replaceAll('\n', ' ').slice(0, 1500)}; ${took()}\n`);
    return false;
  }
}

export const note = (text: string) => void process.stdout.write(`note: ${text}\n`);

/** Runs a program to its end; rejects with what it said unless it exits 0. */
export function run(command: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { maxBuffer: 16 << 20 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${command} ${args.join(' ')}: ${stderr.trim() || error.message}`));
    });
  });
}

/** Lines of the agent's log that match. */
export async function agentLog(pattern: RegExp): Promise<string[]> {
  return (await run('journalctl', '-u', 'kubelet', '--no-pager', '-o', 'cat')).split('\n').filter((line) => pattern.test(line));
}

/** Tries `attempt` until it returns something other than undefined or false, every half second. Rejects after `seconds` with the last reason. */
export async function until<T>(what: string, seconds: number, attempt: () => Promise<T | undefined | false>): Promise<T> {
  const end = performance.now() + seconds * 1000;
  let why = 'not seen';
  while (performance.now() < end) {
    try {
      const found = await attempt();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      why = error instanceof Error ? error.message : String(error);
    }
    await sleep(500);
  }
  throw new Error(`${what}: not within ${seconds} s (${why})`);
}

export function expect(what: string, actual: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(actual, wanted)) throw new Error(`${what} is ${JSON.stringify(actual)}, expected ${JSON.stringify(wanted)}`);
}
