import type { Session } from 'node:inspector/promises';
import type { Clock } from '../../host/clock.ts';
import { HttpError } from '../errors.ts';
import { encodeProfile } from './pprof-encoder.ts';
import { cpuProfile, heapProfile } from './v8-profile.ts';

/** A hundred samples a second, as Go takes them. */
const CPU_PERIOD_US = 10_000;
const HEAP_INTERVAL_BYTES = 128 << 10;

/** Takes profiles of this very process. V8's profilers are loaded with the first one. */
export class Profiler {
  readonly #clock: Clock;
  #session: Promise<Session> | undefined;
  #cpuBusy = false;
  #heapKind: 'heap' | 'allocs' | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The CPU profile of the next seconds. Throws HttpError 500 while another one is taken. */
  async cpu(seconds: number, signal: AbortSignal): Promise<Buffer> {
    if (this.#cpuBusy) throw new HttpError(500, 'Could not enable CPU profiling: cpu profiling already in use\n');
    this.#cpuBusy = true;
    try {
      const session = await this.#open();
      const timeMs = this.#clock.now();
      await session.post('Profiler.enable');
      await session.post('Profiler.setSamplingInterval', { interval: CPU_PERIOD_US });
      await session.post('Profiler.start');
      await this.#clock.sleep(seconds * 1000, signal).catch(() => {});
      const { profile } = await session.post('Profiler.stop');
      await session.post('Profiler.disable');
      return encodeProfile(cpuProfile(profile, CPU_PERIOD_US, timeMs));
    } finally {
      this.#cpuBusy = false;
    }
  }

  /**
   * What is on the heap of that which was allocated since the first such question, or all that was allocated. The first
   * question has to wait `seconds`: V8 samples only from then on.
   */
  async heap(kind: 'heap' | 'allocs', seconds: number, collectGarbage: boolean, signal: AbortSignal): Promise<Buffer> {
    const session = await this.#open();
    if (this.#heapKind !== kind) {
      if (this.#heapKind !== undefined) await session.post('HeapProfiler.stopSampling');
      this.#heapKind = kind;
      const keep = kind === 'allocs';
      await session.post('HeapProfiler.startSampling', {
        samplingInterval: HEAP_INTERVAL_BYTES,
        includeObjectsCollectedByMajorGC: keep,
        includeObjectsCollectedByMinorGC: keep,
      });
      await this.#clock.sleep(seconds * 1000, signal).catch(() => {});
    }
    if (collectGarbage) await session.post('HeapProfiler.collectGarbage');
    const { profile } = await session.post('HeapProfiler.getSamplingProfile');
    return encodeProfile(heapProfile(profile, HEAP_INTERVAL_BYTES, this.#clock.now(), kind));
  }

  #open(): Promise<Session> {
    this.#session ??= import('node:inspector/promises').then(({ Session: Opened }) => {
      const session = new Opened();
      session.connect();
      return session;
    });
    return this.#session;
  }
}
