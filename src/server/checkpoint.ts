import type { ServerResponse } from 'node:http';
import { posix } from 'node:path';
import { findContainer, podFullName } from '../api/pod.ts';
import { timeFromMs } from '../api/time.ts';
import type { CriCheckpoint } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import { HttpError } from './errors.ts';
import { findPod, type PodView, runningContainer } from './pods.ts';

export interface CheckpointDeps {
  pods: PodView;
  runtime: Pick<CriCheckpoint, 'checkpointContainer'>;
  clock: Clock;
  log: Logger;
  /** Where the archives go; made with mode 0700. */
  directory: string;
  /** What lies there, and the file system that it is on. */
  usage(): Promise<{ archives: number; bytes: number; capacity: number; available: number }>;
  makeDirectory(): Promise<void>;
}

/** So many checkpoints in a minute; each is the memory of a container on the node's disk. */
const PER_MINUTE = 10;
/** All archives together: their number, and their part of the file system. */
const MAX_ARCHIVES = 100;
const MAX_PART = 0.1;
/** What must be free of the file system before one more is made. */
const MIN_FREE = 0.15;

/**
 * Answers POST /checkpoint/{namespace}/{pod}/{container}. One at a time, a limited number in a minute, and within a part of
 * the disk: who may ask for checkpoints must not be able to fill it (CVE-2025-0426).
 */
export class Checkpoints {
  readonly #deps: CheckpointDeps;
  #busy = false;
  #made: number[] = [];

  constructor(deps: CheckpointDeps) {
    this.#deps = deps;
  }

  async serve(rest: readonly string[], url: URL, res: ServerResponse): Promise<void> {
    const { pods, runtime, directory, clock, log } = this.#deps;
    if (rest.length !== 3) throw new HttpError(404, '404: Page Not Found');
    const [namespace = '', name = '', container = ''] = rest;
    const pod = findPod(pods, namespace, name);
    if (pod === undefined) throw new HttpError(404, 'pod does not exist');
    if (findContainer(pod, container) === undefined) throw new HttpError(404, `container ${container} does not exist`);
    const text = url.searchParams.getAll('timeout').at(-1);
    if (text !== undefined && !/^[+-]?\d{1,9}$/.test(text)) throw new HttpError(404, 'cannot parse value of timeout parameter');
    const failed = (why: string) => new HttpError(500, `checkpointing of ${namespace}/${name}/${container} failed (${why})`);
    const timeout = Number(text ?? 0);
    if (timeout < 0) throw failed('the timeout must not be negative');
    const id = runningContainer(pods, pod.metadata.uid, container);
    if (id === undefined) throw failed(`container ${container} not found`);
    const location = posix.join(directory, `checkpoint-${podFullName(pod)}-${container}-${timeFromMs(clock.now())}.tar`);
    await this.#admitted(async () => {
      try {
        await runtime.checkpointContainer(id, location, timeout);
      } catch (err) {
        log.error(err, 'Checkpoint failed', { pod: `${namespace}/${name}`, container });
        throw failed(err instanceof Error ? err.message : String(err));
      }
    });
    res.writeHead(200, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ items: [location] }));
  }

  async #admitted(work: () => Promise<void>): Promise<void> {
    const { clock, usage, makeDirectory } = this.#deps;
    const later = (why: string) => new HttpError(429, `${why}; try again later\n`, { 'Retry-After': '10' });
    if (this.#busy) throw later('another checkpoint is being made');
    const now = clock.monotonic();
    this.#made = this.#made.filter((at) => now - at < 60_000);
    if (this.#made.length >= PER_MINUTE) throw later(`more than ${PER_MINUTE} checkpoints in a minute`);
    this.#busy = true;
    try {
      this.#made.push(now);
      await makeDirectory();
      const { archives, bytes, capacity, available } = await usage();
      const full = (why: string) => new HttpError(507, `${why}; remove archives from ${this.#deps.directory} first\n`);
      if (archives >= MAX_ARCHIVES) throw full(`there are ${archives} checkpoints on the node already`);
      if (bytes > capacity * MAX_PART) throw full('checkpoints take more than a tenth of the file system');
      if (available < capacity * MIN_FREE) throw full('too little of the file system is free');
      await work();
    } finally {
      this.#busy = false;
    }
  }
}
