import { spawn } from 'node:child_process';
import { open, readFile } from 'node:fs/promises';
import { endProcesses, type ProcessRef, processRef, signalProcess } from '../../../scripts/node/processes.ts';

export interface DaemonOptions {
  name: string;
  program: string;
  args: readonly string[];
  logFile: string;
  /** Told of each process that was started, before it can do harm. */
  own(ref: ProcessRef): Promise<void>;
}

/** One program of the control plane, which can be stopped, frozen and started again. Its output goes to a file. */
export class Daemon {
  readonly name: string;
  readonly #options: DaemonOptions;
  #process: ProcessRef | undefined;
  #ended: string | undefined;
  #generation = 0;

  constructor(options: DaemonOptions) {
    this.name = options.name;
    this.#options = options;
  }

  /** The pid while it runs. */
  pid(): number | undefined {
    return this.#ended === undefined ? this.#process?.pid : undefined;
  }

  async start(): Promise<void> {
    if (this.pid() !== undefined) return;
    const output = await open(this.#options.logFile, 'a');
    this.#ended = undefined;
    // A process group of its own: Ctrl-C in the terminal is for the caller, who stops the cluster in order.
    const child = spawn(this.#options.program, this.#options.args, { stdio: ['ignore', output.fd, output.fd], detached: true });
    const failed = new Promise<Error>((done) => child.once('error', done));
    const generation = ++this.#generation;
    child.once('exit', (code, signal) => {
      // The news of an end may come after the next start.
      if (generation === this.#generation) this.#ended = signal ?? `exit ${code}`;
    });
    child.unref();
    await output.close();
    if (child.pid === undefined) throw await failed;
    this.#process = await processRef(child.pid);
    if (this.#process !== undefined) await this.#options.own(this.#process);
  }

  /** Rejects with the end of the log when the process is no longer there. */
  async mustRun(): Promise<void> {
    if (this.#ended !== undefined) throw new Error(`${this.name} ended (${this.#ended}):\n${await this.logTail()}`);
  }

  async logTail(): Promise<string> {
    return (await readFile(this.#options.logFile, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-15).join('\n');
  }

  /** SIGTERM, after ten seconds SIGKILL; or SIGKILL at once. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#process === undefined) return;
    await endProcesses([this.#process], signal === 'SIGTERM' ? 10_000 : 0);
    this.#process = undefined;
  }

  /** SIGSTOP: connections stay open and silent until `thaw`. */
  async freeze(): Promise<void> {
    if (this.#process !== undefined) await signalProcess(this.#process, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    if (this.#process !== undefined) await signalProcess(this.#process, 'SIGCONT');
  }
}
