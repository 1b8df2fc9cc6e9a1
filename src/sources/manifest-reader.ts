import { Worker } from 'node:worker_threads';
import { canonicalPod } from '../compat/canonical-pod.ts';
import type { Clock, Timer } from '../host/clock.ts';
import type { ManifestErrorCode } from './manifest-error.ts';
import { type Manifest, MaxManifestBytes, readManifest, tooLarge } from './parse-pod.ts';
import type { ParseJob } from './parse-worker.ts';
import type { ManifestOrigin } from './static-pod.ts';

/** Bytes up to which a manifest is read on the event loop: well under 20 ms also on a slow machine. */
const InlineBytes = 8 << 10;
/** Open brackets, or list dashes in one line, beyond which a small text may still be slow. */
const InlineNesting = 100;
const TimeLimitMs = 10_000;
const IdleMs = 30_000;
const MemoryLimitMb = 512;

/**
 * Reads manifests without holding up the event loop: small ones in place, large ones in a thread with a limit of time
 * and memory. The thread starts with the first large manifest and ends when none came for half a minute.
 */
export class ManifestReader {
  readonly #clock: Clock;
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(data: Uint8Array, origin: ManifestOrigin): Promise<Manifest> {
    if (data.length > MaxManifestBytes) return Promise.resolve({ pods: [], faults: [tooLarge(origin.location)] });
    if (isQuick(data)) return Promise.resolve(readManifest(data, origin));
    const turn = this.#last.then(() => this.#inThread({ data, origin }));
    this.#last = turn;
    return turn;
  }

  /** Ends the thread, if there is one. */
  async close(): Promise<void> {
    this.#idle?.cancel();
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  async #inThread(job: ParseJob): Promise<Manifest> {
    this.#idle?.cancel();
    this.#worker ??= startWorker();
    const worker = this.#worker;
    const { promise, resolve } = Promise.withResolvers<Manifest>();
    const fail = (code: ManifestErrorCode, problem: string) =>
      resolve({ pods: [], faults: [{ code, file: job.origin.location, problem }] });
    const onMessage = (manifest: Manifest) => resolve(manifest);
    const onError = (error: Error) => fail('too-large', `cannot be read: ${error.message}`);
    const onExit = () => fail('too-large', 'cannot be read: the parsing thread ended');
    const timer = this.#clock.after(TimeLimitMs, () => fail('too-slow', `takes longer than ${TimeLimitMs / 1000} s to read`));
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    // A copy: the caller keeps its bytes, and a buffer from Node's pool cannot be moved.
    worker.postMessage(job);
    const manifest = await promise;
    timer.cancel();
    worker.off('message', onMessage).off('error', onError).off('exit', onExit);
    if (isThreadFault(manifest)) await this.close();
    else this.#idle = this.#clock.after(IdleMs, () => void this.close(), true);
    // Maps lose their missing prototype on the way between threads.
    return { ...manifest, pods: manifest.pods.map(canonicalPod) };
  }
}

function isThreadFault({ faults: [first] }: Manifest): boolean {
  return first !== undefined && first.line === undefined && (first.code === 'too-slow' || first.code === 'too-large');
}

/** Small, and not so deeply nested that the reader's stack would be tried. */
function isQuick(data: Uint8Array): boolean {
  if (data.length > InlineBytes) return false;
  let brackets = 0;
  let dashes = 0;
  for (const byte of data) {
    if (byte === 0x5b || byte === 0x7b) brackets += 1;
    else if (byte === 0x5d || byte === 0x7d) brackets -= 1;
    else if (byte === 0x2d || byte === 0x3f) dashes += 1;
    else if (byte === 0x0a) dashes = 0;
    if (brackets > InlineNesting || dashes > InlineNesting) return false;
  }
  return true;
}

function startWorker(): Worker {
  // The build makes a bundle of its own of what stands here.
  const url = new URL('./parse-worker.ts', import.meta.url);
  const worker = new Worker(url, { resourceLimits: { maxOldGenerationSizeMb: MemoryLimitMb }, execArgv: [] });
  worker.unref();
  return worker;
}
