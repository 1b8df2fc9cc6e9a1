import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../clock.ts';
import type { FileOperations } from './operations.ts';

/** Threads that have just begun at a time; more questions wait. */
const MaxThreads = 4;
/** After that a thread is slow, and no reason for others to wait. */
const LendMs = 1_000;
/** Threads that wait for a file system that does not answer. Nothing ends them but its answer. */
const MaxStuck = 64;
const IdleMs = 10_000;
/** What a thread needs beside the time that its work may take. */
const SlackMs = 5_000;

export interface Question {
  operation: keyof FileOperations;
  /** A path, and what the operation takes beside it. */
  args: readonly [string, ...unknown[]];
}

export type Answer = { ok: true; value: unknown } | { ok: false; message: string; code?: string };

/** A file system did not answer in time, or too many do not answer. */
export class FileThreadError extends Error {
  readonly code: 'timeout' | 'too-many';

  constructor(code: FileThreadError['code'], message: string) {
    super(message);
    this.name = 'FileThreadError';
    this.code = code;
  }
}

/** File operations that may take long or never end. Errors of the system keep their code. */
export interface SlowFiles {
  /**
   * Runs one operation. Rejects with FileThreadError when it has not ended in `timeoutMs`: the file system may hang.
   */
  run<N extends keyof FileOperations>(
    operation: N,
    args: Parameters<FileOperations[N]>,
    timeoutMs: number,
  ): Promise<ReturnType<FileOperations[N]>>;
}

/** One thread. */
export interface FileThread {
  post(question: Question): void;
  /** The next answer; rejects when the thread ends. */
  answer(): Promise<Answer>;
  end(): void;
}

/**
 * Threads beside the event loop and beside the four of Node's own that all file calls share: a mount whose server is dead holds
 * a thread for ever, and four of them would hold up the whole agent. One is started when it is needed and ends when it is idle. A slow
 * one gives its place to another; one that does not come back is left behind, and its path is not asked for again until it does.
 */
export class FileThreads implements SlowFiles {
  readonly #clock: Clock;
  readonly #start: () => FileThread;
  readonly #idle: { thread: FileThread; timer: Timer }[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #stuckAt = new Set<string>();
  #busy = 0;
  #stuck = 0;

  constructor(clock: Clock, start: () => FileThread = startThread) {
    this.#clock = clock;
    this.#start = start;
  }

  /** Threads that were left behind and have not come back. */
  get stuck(): number {
    return this.#stuck;
  }

  async run<N extends keyof FileOperations>(
    operation: N,
    args: Parameters<FileOperations[N]>,
    timeoutMs: number,
  ): Promise<ReturnType<FileOperations[N]>> {
    if (this.#stuck >= MaxStuck) throw new FileThreadError('too-many', `${this.#stuck} threads wait for file systems that do not answer`);
    if (this.#stuckAt.has(args[0])) throw new FileThreadError('timeout', 'the file system has not answered when it was last asked');
    if (this.#busy >= MaxThreads) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#busy++;
    let holds = true;
    const give = () => {
      if (holds) this.#givePlace();
      holds = false;
    };
    const lend = this.#clock.after(LendMs, give, true);
    try {
      return (await this.#ask({ operation, args }, timeoutMs + SlackMs)) as ReturnType<FileOperations[N]>;
    } finally {
      lend.cancel();
      give();
    }
  }

  /** Straight to the next one in the queue. */
  #givePlace(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#busy--;
    else next();
  }

  async #ask(question: Question, timeoutMs: number): Promise<unknown> {
    const idle = this.#idle.pop();
    idle?.timer.cancel();
    const thread = idle?.thread ?? this.#start();
    const answered = thread.answer();
    thread.post(question);
    const { promise: late, resolve: giveUp } = Promise.withResolvers<undefined>();
    const timer = this.#clock.after(timeoutMs, () => giveUp(undefined), true);
    const answer = await Promise.race([answered, late]).finally(() => timer.cancel());
    if (answer === undefined) {
      this.#leave(thread, answered, question.args[0]);
      throw new FileThreadError('timeout', `the file system has not answered within ${timeoutMs / 1000} s`);
    }
    this.#keep(thread);
    if (answer.ok) return answer.value;
    throw Object.assign(new Error(answer.message), answer.code === undefined ? {} : { code: answer.code });
  }

  #keep(thread: FileThread): void {
    const entry = {
      thread,
      timer: this.#clock.after(
        IdleMs,
        () => {
          this.#idle.splice(this.#idle.indexOf(entry), 1);
          thread.end();
        },
        true,
      ),
    };
    this.#idle.push(entry);
  }

  /** A thread in a system call cannot be ended: it ends when the call does. */
  #leave(thread: FileThread, answered: Promise<Answer>, path: string): void {
    this.#stuck++;
    this.#stuckAt.add(path);
    void answered
      .catch(() => {})
      .then(() => {
        this.#stuck--;
        this.#stuckAt.delete(path);
        thread.end();
      });
  }
}

function startThread(): FileThread {
  // The build makes a bundle of its own of what stands here.
  const worker = new Worker(new URL('./file-thread.ts', import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 128 },
  });
  // It keeps no process alive, also while it hangs.
  worker.unref();
  return {
    post: (question) => worker.postMessage(question),
    answer: () =>
      new Promise((resolve, reject) => {
        const done = () => void worker.off('message', onMessage).off('error', onError).off('exit', onExit);
        const onMessage = (answer: Answer) => {
          done();
          resolve(answer);
        };
        const onError = (err: unknown) => {
          done();
          reject(new Error('a file thread failed', { cause: err }));
        };
        const onExit = () => onError(new Error('it ended'));
        worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      }),
    end: () => void worker.terminate(),
  };
}
