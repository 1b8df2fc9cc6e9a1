import { TransportError } from '../../src/kube/transport.ts';
import type { StoredObject, StoreEvent } from './apiserver-store.ts';

const encoder = new TextEncoder();

/** The bytes of an answer that lasts, with the ways in which a connection goes wrong. */
export class SimWatch implements AsyncIterable<Uint8Array> {
  readonly path: string;
  readonly #matches: (object: StoredObject) => boolean;
  readonly #onEnd: () => void;
  readonly #chunks: Uint8Array[] = [];
  #wake: (() => void) | undefined;
  #error: Error | undefined;
  #ended = false;
  #silent = false;
  #splitAt = 0;
  #truncateNext = false;

  constructor(path: string, matches: (object: StoredObject) => boolean, onEnd: () => void) {
    this.path = path;
    this.#matches = matches;
    this.#onEnd = onEnd;
  }

  get open(): boolean {
    return !this.#ended;
  }

  /** A write, if it concerns this watch: what leaves the selection is deleted to it, what enters is added. */
  tell(event: StoreEvent): void {
    const was = event.before !== undefined && this.#matches(event.before);
    const is = event.after !== undefined && this.#matches(event.after);
    if (!was && !is) return;
    const type = !was ? 'ADDED' : is ? 'MODIFIED' : 'DELETED';
    const object = structuredClone(event.last);
    object.metadata['resourceVersion'] = String(event.version);
    this.line({ type, object });
  }

  line(value: unknown): void {
    const bytes = encoder.encode(`${JSON.stringify(value)}\n`);
    if (this.#truncateNext) {
      this.#push(bytes.subarray(0, Math.floor(bytes.length / 2)));
      this.cut();
      return;
    }
    const step = this.#splitAt > 0 ? this.#splitAt : bytes.length;
    for (let from = 0; from < bytes.length; from += step) this.#push(bytes.subarray(from, from + step));
  }

  /** The server ends the answer as it should. */
  end(): void {
    this.#finish(undefined);
  }

  /** The connection breaks. */
  cut(): void {
    this.#finish(new TransportError('connection reset by peer', false));
  }

  /** Nothing comes any more, and nobody tells. */
  silence(): void {
    this.#silent = true;
  }

  /** Of the next line only the half comes, then the connection breaks. */
  truncateNext(): void {
    this.#truncateNext = true;
  }

  /** Lines come in chunks of so many bytes. */
  split(bytes: number): void {
    this.#splitAt = bytes;
  }

  /** A whole line that is no JSON. */
  garbage(): void {
    this.#push(encoder.encode('{"type":"MODIFIED","object":{"metadata":\n'));
  }

  /** An error within the answer, as the watch cache sends it. */
  error(code: number, reason: string, message: string): void {
    this.line({ type: 'ERROR', object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message } });
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk) yield chunk;
        else if (this.#error) throw this.#error;
        else if (this.#ended) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#finish(undefined);
    }
  }

  /** The client went away. */
  abort(reason: Error): void {
    this.#chunks.length = 0;
    this.#error = reason;
    this.#finish(reason);
  }

  #push(bytes: Uint8Array): void {
    if (this.#silent || this.#ended) return;
    this.#chunks.push(bytes);
    this.#wake?.();
  }

  #finish(error: Error | undefined): void {
    if (!this.#ended) {
      this.#ended = true;
      this.#error = error;
      this.#onEnd();
    }
    this.#wake?.();
  }
}
