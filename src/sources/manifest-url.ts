import type { Pod } from '../api/types.ts';
import type { Clock } from '../host/clock.ts';
import { type HttpAnswer, type HttpGetOptions, systemGet } from '../host/http-get.ts';
import { Pause } from '../host/pause.ts';
import { podEventObject } from '../observe/event-object.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { dropDuplicates, duplicateMessage } from './drop-duplicates.ts';
import { ManifestError, type ManifestErrorCode } from './manifest-error.ts';
import type { ListsManifests, ManifestListing } from './manifest-listing.ts';
import { ManifestReader } from './manifest-reader.ts';
import { MaxManifestBytes, tooLarge } from './parse-pod.ts';
import { SeenPods } from './seen-pods.ts';
import type { PodSet, PodSource } from './types.ts';

const TimeoutMs = 10_000;
/** Failures in a row that are told at once; later ones only to who asks for detail. */
const LoudFailures = 3;

export interface ManifestUrlOptions {
  url: string;
  /** Sent with each request: staticPodURLHeader. */
  header: Readonly<Record<string, readonly string[]>>;
  httpCheckFrequencyMs: number;
  nodeName: string;
  clock: Clock;
  log: Logger;
  /** How the URL is asked; default over the network. */
  get?: (url: string, options: HttpGetOptions) => Promise<HttpAnswer>;
  events?: EventRecorder;
}

/**
 * Static pods from a URL (contract: pod-lifecycle.md §1): a Pod or a PodList, asked for from time to time. A failure
 * changes nothing; an empty body takes all pods away; a body that did not change is not read again.
 */
export class ManifestUrl implements PodSource, ListsManifests {
  readonly name = 'http';
  readonly #options: ManifestUrlOptions;
  readonly #seen: SeenPods;
  readonly #reader: ManifestReader;
  #set: PodSet = { pods: [], errors: [] };
  #body: Buffer | undefined;
  #failures = 0;

  constructor(options: ManifestUrlOptions) {
    this.#options = options;
    this.#seen = new SeenPods('http', options.clock);
    this.#reader = new ManifestReader(options.clock);
  }

  listing(): ManifestListing {
    return { source: 'http', location: this.#options.url, ...this.#set };
  }

  async *sets(signal: AbortSignal): AsyncGenerator<PodSet> {
    const { clock, httpCheckFrequencyMs, log, url } = this.#options;
    const pause = new Pause(clock);
    log.debug(1, 'Watching URL', { URL: url });
    try {
      while (!signal.aborted) {
        const set = await this.#check(signal);
        if (signal.aborted) return;
        if (set) yield set;
        await pause.wait(httpCheckFrequencyMs, signal);
      }
    } finally {
      await this.#reader.close();
    }
  }

  /** One request; a set when there is a new one. */
  async #check(signal: AbortSignal): Promise<PodSet | undefined> {
    let body: Buffer;
    try {
      body = await this.#get(signal);
    } catch (error) {
      if (!signal.aborted) this.#fail([error instanceof ManifestError ? error : this.#error('http', reason(error))]);
      return undefined;
    }
    if (body.length === 0) return this.#emptied();
    if (this.#body?.equals(body)) return this.#unchanged();
    this.#body = body;
    const { url, nodeName } = this.#options;
    const { pods, faults } = await this.#reader.read(body, { kind: 'http', location: url, nodeName });
    if (faults.length > 0) {
      this.#fail(faults.map((fault) => new ManifestError(fault)));
      return undefined;
    }
    this.#succeed();
    return this.#accept(pods);
  }

  #error(code: ManifestErrorCode, problem: string): ManifestError {
    return new ManifestError({ code, file: this.#options.url, problem });
  }

  #emptied(): PodSet | undefined {
    const before = this.#set;
    // The same body after this one is news again: its pods come back.
    this.#body = undefined;
    this.#set = { pods: [], errors: [] };
    this.#fail([this.#error('http', 'sent an empty body, which takes all its pods away')]);
    const isNews = this.#failures === 1 || before.pods.length > 0;
    return isNews ? this.#set : undefined;
  }

  #unchanged(): undefined {
    // Of a body with a fault it stays known that it is bad.
    if (this.#set.errors.every(({ code }) => code === 'http')) this.#succeed();
  }

  #accept(found: Pod[]): PodSet {
    const { url, events } = this.#options;
    const { kept, dropped } = dropDuplicates(found.map((pod) => ({ pod, file: url })));
    for (const { pod } of dropped) {
      events?.event(podEventObject(pod), 'Warning', 'FailedValidation', duplicateMessage(pod, this.name));
    }
    const pods = kept.map(({ pod }) => pod);
    for (const pod of pods) this.#seen.mark(pod);
    this.#seen.keep(pods);
    const errors = dropped.map(({ fault }) => new ManifestError(fault));
    for (const error of errors) this.#options.log.error(error, 'Could not process a pod from the URL', { URL: url });
    this.#set = { pods, errors };
    return this.#set;
  }

  /** The pods stay; the errors are listed and told, the first few times. */
  #fail(errors: ManifestError[]): void {
    const { log } = this.#options;
    this.#set = { pods: this.#set.pods, errors };
    this.#failures += 1;
    const err = errors[0];
    if (this.#failures <= LoudFailures) log.info('Failed to read pods from URL', { err });
    else if (this.#failures === LoudFailures + 1)
      log.info('Failed to read pods from URL. Dropping verbosity of this message to V(4)', { err });
    else log.debug(4, 'Failed to read pods from URL', { err });
  }

  #succeed(): void {
    if (this.#failures > 0) this.#options.log.info('Successfully read pods from URL');
    this.#failures = 0;
    this.#set = { pods: this.#set.pods, errors: [] };
  }

  async #get(signal: AbortSignal): Promise<Buffer> {
    const { url, header, clock } = this.#options;
    const timeout = new AbortController();
    const timer = clock.after(TimeoutMs, () => timeout.abort(new Error(`no answer within ${TimeoutMs / 1000} s`)), true);
    try {
      const get = this.#options.get ?? systemGet;
      const response = await get(url, { headers: header, signal: AbortSignal.any([signal, timeout.signal]) });
      const body = await readBody(response);
      if (!body) throw new ManifestError(tooLarge(url));
      if (response.status !== 200) throw this.#error('http', `answered ${response.status} ${response.statusText}`.trimEnd());
      return body;
    } finally {
      timer.cancel();
    }
  }
}

/** Undefined for a body beyond the limit. */
async function readBody(response: HttpAnswer): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > MaxManifestBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Of a failed fetch the cause says more than the error; headers are in neither. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
