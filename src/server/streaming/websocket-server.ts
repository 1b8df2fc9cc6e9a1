import type { Duplex } from 'node:stream';
import { closeFrame, frameHead, opcodes, WebSocketReader } from './websocket-frames.ts';

const NORMAL = 1000;
const PROTOCOL_ERROR = 1002;

export interface WebSocketHandlers {
  /** A piece of a message; `first` at the begin of each message. */
  message(data: Buffer, first: boolean, last: boolean): void;
  /** The client closes, or broke the protocol. No message comes after it. */
  closed(): void;
}

/** The server's side of a WebSocket after the handshake: answers pings and closing by itself. */
export class WebSocketServer {
  readonly #socket: Duplex;
  readonly #reader = new WebSocketReader();
  readonly #handlers: WebSocketHandlers;
  #closed = false;

  constructor(socket: Duplex, handlers: WebSocketHandlers) {
    this.#socket = socket;
    this.#handlers = handlers;
  }

  /** Takes what came from the client. */
  feed(chunk: Buffer): void {
    if (this.#closed) return;
    try {
      for (const piece of this.#reader.read(chunk)) {
        if (piece.type === 'message') this.#handlers.message(piece.data, piece.first, piece.last);
        else if (piece.type === 'ping') this.#write(frameHead(opcodes.pong, piece.data.length), piece.data);
        else if (piece.type === 'close') this.#gone(NORMAL);
        if (this.#closed) return;
      }
    } catch {
      this.#gone(PROTOCOL_ERROR);
    }
  }

  /** The parts of one binary message. Empty once the connection is closing. */
  binary(...parts: readonly Buffer[]): Buffer[] {
    if (this.#closed) return [];
    return [
      frameHead(
        opcodes.binary,
        parts.reduce((sum, p) => sum + p.length, 0),
      ),
      ...parts,
    ];
  }

  /** Says that nothing more comes, after what was written. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#write(closeFrame(NORMAL));
    this.#socket.end();
  }

  #gone(code: number): void {
    this.#closed = true;
    this.#write(closeFrame(code));
    this.#socket.end();
    this.#handlers.closed();
  }

  #write(...parts: readonly Buffer[]): void {
    if (this.#socket.destroyed || this.#socket.writableEnded) return;
    for (const part of parts) this.#socket.write(part);
  }
}
