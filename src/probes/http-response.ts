/** Bytes of a head beyond which an answer is none. */
const MAX_HEAD = 256 * 1024;
/** Interim answers (100 Continue and its like) that are skipped before the real one. */
const MAX_INTERIM = 5;
const nothing = Buffer.alloc(0);
const CR = 13;
const LF = 10;

/** An answer that is no HTTP. */
export class BadResponse extends Error {
  override readonly name = 'BadResponse';
}

type BodyKind = 'none' | 'length' | 'chunked' | 'until-close';

/** Reads one HTTP/1.x answer from the pieces in which it arrives, and of its body no more than `bodyLimit` bytes. */
export class ResponseReader {
  status = 0;
  /** The Location header; empty without one. */
  location = '';
  /** The head is complete; `status` and `location` are known. */
  headDone = false;
  /** Nothing more is wanted: all is here, or the body is longer than the limit. */
  done = false;
  readonly #bodyLimit: number;
  #pending: Buffer = nothing;
  #interim = 0;
  #body: Buffer[] = [];
  #kept = 0;
  #kind: BodyKind = 'none';
  /** Bytes that the body, or the present chunk, still lacks. */
  #left = 0;
  #chunkPart: 'size' | 'data' | 'end' | 'trailer' = 'size';

  constructor(bodyLimit: number) {
    this.#bodyLimit = bodyLimit;
  }

  /** Takes what arrived; `piece` is not kept. Throws BadResponse. */
  push(piece: Buffer): void {
    if (this.done) return;
    this.#pending = this.#pending.length === 0 ? piece : Buffer.concat([this.#pending, piece]);
    this.#read();
    // The piece lies in memory that the next one is read into.
    this.#pending = this.done || this.#pending.length === 0 ? nothing : Buffer.from(this.#pending);
  }

  #read(): void {
    while (!this.headDone) if (!this.#readHead()) return;
    if (!this.done) this.#readBody();
  }

  /** The other side closed. Throws BadResponse when something was missing. */
  end(): void {
    if (this.done) return;
    if (!this.headDone) throw new BadResponse(this.#pending.length === 0 ? 'EOF' : 'unexpected EOF');
    if (this.#kind !== 'until-close') throw new BadResponse('unexpected EOF');
    this.done = true;
  }

  get body(): string {
    return Buffer.concat(this.#body).toString();
  }

  /** False while the head is incomplete. */
  #readHead(): boolean {
    const end = headEnd(this.#pending);
    if (end < 0) {
      if (this.#pending.length > MAX_HEAD) throw new BadResponse('the head of the answer is too long');
      return false;
    }
    const head = this.#pending.toString('latin1', 0, end);
    this.#pending = this.#pending.subarray(end);
    this.status = statusOf(head);
    if (this.status >= 100 && this.status < 200 && this.status !== 101) {
      this.#interim += 1;
      if (this.#interim > MAX_INTERIM) throw new BadResponse('too many 1xx informational responses');
      return true;
    }
    this.headDone = true;
    this.location = headerOf(head, 'location') ?? '';
    this.#chooseBody(head);
    return true;
  }

  #chooseBody(head: string): void {
    const { status } = this;
    const length = headerOf(head, 'content-length');
    if (status === 204 || status === 304 || status === 101) this.#kind = 'none';
    else if (headerOf(head, 'transfer-encoding')?.toLowerCase().endsWith('chunked')) this.#kind = 'chunked';
    else if (length !== undefined) {
      if (!/^[0-9]{1,15}$/.test(length)) throw new BadResponse(`bad Content-Length ${JSON.stringify(length)}`);
      this.#kind = 'length';
      this.#left = Number(length);
    } else this.#kind = 'until-close';
    this.done = this.#kind === 'none' || (this.#kind === 'length' && this.#left === 0);
  }

  #readBody(): void {
    if (this.#kind === 'chunked') {
      while (!this.done && this.#readChunked());
      return;
    }
    const part = this.#kind === 'length' ? this.#pending.subarray(0, this.#left) : this.#pending;
    this.#keep(part);
    if (this.#kind === 'length') {
      this.#left -= part.length;
      if (this.#left === 0) this.done = true;
    }
    this.#pending = nothing;
  }

  /** One step through a chunked body; false when more bytes are needed. */
  #readChunked(): boolean {
    const pending = this.#pending;
    if (this.#chunkPart === 'data') {
      if (pending.length === 0) return false;
      const part = pending.subarray(0, this.#left);
      this.#keep(part);
      this.#left -= part.length;
      this.#pending = pending.subarray(part.length);
      if (this.#left === 0) this.#chunkPart = 'end';
      return true;
    }
    const at = pending.indexOf(LF);
    if (at < 0) {
      if (pending.length > MAX_HEAD) throw new BadResponse('malformed chunked encoding');
      return false;
    }
    const text = trimEnd(pending.toString('latin1', 0, at));
    this.#pending = pending.subarray(at + 1);
    if (this.#chunkPart === 'end') {
      if (text !== '') throw new BadResponse('malformed chunked encoding');
      this.#chunkPart = 'size';
    } else if (this.#chunkPart === 'size') {
      const size = /^([0-9a-fA-F]{1,12})(?:[ \t]*;|$)/.exec(text)?.[1];
      if (size === undefined) throw new BadResponse('invalid byte in chunk length');
      this.#left = Number.parseInt(size, 16);
      this.#chunkPart = this.#left === 0 ? 'trailer' : 'data';
    } else if (text === '') this.done = true;
    return true;
  }

  #keep(part: Buffer): void {
    const room = this.#bodyLimit - this.#kept;
    if (part.length > 0 && room > 0) this.#body.push(Buffer.from(part.subarray(0, room)));
    this.#kept += Math.min(room, part.length);
    // Only one that goes on beyond the limit is cut: what comes after it is of no interest.
    if (part.length > room) this.done = true;
  }
}

/** The number in the first line of a head. */
function statusOf(head: string): number {
  const first = trimEnd(head.slice(0, head.indexOf('\n')));
  const status = /^HTTP\/1\.[0-9] +([0-9]{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) throw new BadResponse(`malformed HTTP response ${JSON.stringify(first.slice(0, 100))}`);
  return Number(status);
}

/** The first header of that name (lower case) in a head. Only three are ever asked for: the rest is not taken apart. */
function headerOf(head: string, name: string): string | undefined {
  const start = head.toLowerCase().indexOf(`\n${name}:`);
  if (start < 0) return undefined;
  const from = start + name.length + 2;
  return head.slice(from, head.indexOf('\n', from)).trim();
}

/** The offset behind the blank line that ends a head; -1 while there is none. */
function headEnd(bytes: Buffer): number {
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

const trimEnd = (text: string) => (text.endsWith('\r') ? text.slice(0, -1) : text);
