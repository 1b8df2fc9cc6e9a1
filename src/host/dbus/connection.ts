import { createConnection, type Socket } from 'node:net';
import type { DBusValue } from './marshal.ts';
import { type DBusMessage, decodeMessage, encodeCall, MessageType, type MethodCall } from './message.ts';

export type DBusErrorCode = 'Disconnected' | 'AuthenticationFailed' | 'Protocol' | 'Remote';

/** What went wrong on the bus. `remoteName` is the peer's name for it, such as `org.freedesktop.systemd1.NoSuchUnit`. */
export class DBusError extends Error {
  readonly code: DBusErrorCode;
  readonly remoteName: string | undefined;
  constructor(code: DBusErrorCode, message: string, remoteName?: string) {
    super(remoteName === undefined ? message : `${message} (${remoteName})`);
    this.name = 'DBusError';
    this.code = code;
    this.remoteName = remoteName;
  }
}

interface Waiting {
  resolve(body: DBusValue[]): void;
  reject(error: DBusError): void;
}

/** One connection to a peer that speaks D-Bus on a unix socket, such as systemd itself at /run/systemd/private. */
export class DBusConnection {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #signals = new Set<(message: DBusMessage) => void>();
  #pending: Buffer = Buffer.alloc(0);
  #serial = 0;
  #failure: DBusError | undefined;

  /** `rest` are bytes that came behind the authentication. */
  private constructor(socket: Socket, rest: Buffer) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('error', (error) => this.#fail(new DBusError('Disconnected', error.message)));
    socket.on('close', () => this.#fail(new DBusError('Disconnected', 'the peer closed the connection')));
    if (rest.length > 0) this.#received(rest);
  }

  /** Connects and authenticates as this process's user. Rejects with a DBusError. */
  static async connect(path: string, signal: AbortSignal): Promise<DBusConnection> {
    signal.throwIfAborted();
    const socket = createConnection({ path });
    const abort = () => socket.destroy();
    signal.addEventListener('abort', abort, { once: true });
    try {
      const rest = await authenticate(socket);
      socket.unref();
      return new DBusConnection(socket, rest);
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  get isOpen(): boolean {
    return this.#failure === undefined;
  }

  /** Calls a method; resolves with the values of the answer. Rejects with a DBusError. */
  call(call: MethodCall): Promise<DBusValue[]> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const serial = ++this.#serial;
    const bytes = encodeCall(serial, call);
    return new Promise((resolve, reject) => {
      this.#waiting.set(serial, { resolve, reject });
      // A process that waits for an answer must not end before it.
      this.#socket.ref();
      this.#socket.write(bytes);
    });
  }

  /** Calls `listener` with every signal, until the returned function is called. */
  onSignal(listener: (message: DBusMessage) => void): () => void {
    this.#signals.add(listener);
    return () => this.#signals.delete(listener);
  }

  close(): void {
    this.#fail(new DBusError('Disconnected', 'the connection was closed'));
    this.#socket.destroy();
  }

  #received(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    try {
      for (let next = decodeMessage(this.#pending); next !== undefined; next = decodeMessage(this.#pending)) {
        this.#pending = this.#pending.subarray(next.size);
        this.#dispatch(next.message);
      }
    } catch (error) {
      this.#fail(new DBusError('Protocol', error instanceof Error ? error.message : String(error)));
      this.#socket.destroy();
    }
  }

  #dispatch(message: DBusMessage): void {
    if (message.type === MessageType.signal) {
      for (const listener of this.#signals) listener(message);
      return;
    }
    const waiting = this.#waiting.get(message.replySerial ?? 0);
    if (waiting === undefined) return;
    this.#waiting.delete(message.replySerial ?? 0);
    if (this.#waiting.size === 0) this.#socket.unref();
    if (message.type === MessageType.reply) waiting.resolve(message.body);
    else waiting.reject(new DBusError('Remote', String(message.body[0] ?? 'refused'), message.errorName ?? 'unknown'));
  }

  #fail(failure: DBusError): void {
    this.#failure ??= failure;
    for (const waiting of this.#waiting.values()) waiting.reject(this.#failure);
    this.#waiting.clear();
  }
}

/** The EXTERNAL mechanism: the kernel tells the peer who we are. Resolves with what came behind the answer. */
function authenticate(socket: Socket): Promise<Buffer> {
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const stop = () => socket.off('data', onData).off('error', onError).off('close', onClose);
    const onError = (error: Error) => {
      stop();
      reject(new DBusError('Disconnected', error.message));
    };
    const onClose = () => onError(new Error('the peer closed the connection'));
    const onData = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const end = received.indexOf('\r\n');
      if (end < 0) return;
      stop();
      const line = received.toString('latin1', 0, end);
      if (!line.startsWith('OK ')) return reject(new DBusError('AuthenticationFailed', `the peer answered ${JSON.stringify(line)}`));
      socket.write('BEGIN\r\n');
      resolve(received.subarray(end + 2));
    };
    socket.on('data', onData).on('error', onError).on('close', onClose);
    socket.write(`\0AUTH EXTERNAL ${uid}\r\n`);
  });
}
