import type { Socket } from 'node:net';

export interface ConnectionLimitsOptions {
  /** Connections of one address that have not yet shown who they are. */
  strangersPerAddress: number;
  /** Such connections of all addresses together. */
  strangers: number;
  /** All connections. */
  total: number;
}

/** Clients that are known are not held up by a flood of unknown ones: only the latter are counted tightly. */
export const defaultConnectionLimits: ConnectionLimitsOptions = { strangersPerAddress: 128, strangers: 512, total: 8_192 };

/** What tells connections apart: a TLS socket and the TCP socket below it have the same. */
type Peer = Pick<Socket, 'remoteAddress' | 'remotePort'>;

/** Which connections a listener keeps. A connection is a stranger until a request of it was authenticated. */
export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #perAddress = new Map<string, number>();
  /** Address and port, and the address. */
  readonly #strangers = new Map<string, string>();
  #total = 0;

  constructor(options: ConnectionLimitsOptions = defaultConnectionLimits) {
    this.#options = options;
  }

  get total(): number {
    return this.#total;
  }

  get strangers(): number {
    return this.#strangers.size;
  }

  /** False when the connection is one too many and must be closed. */
  admit(socket: Peer & { once(event: 'close', fn: () => void): unknown }): boolean {
    const address = socket.remoteAddress ?? '';
    const key = keyOf(socket);
    const { strangersPerAddress, strangers, total } = this.#options;
    const same = this.#perAddress.get(address) ?? 0;
    if (same >= strangersPerAddress || this.#strangers.size >= strangers || this.#total >= total) return false;
    this.#total += 1;
    this.#strangers.set(key, address);
    this.#perAddress.set(address, same + 1);
    socket.once('close', () => {
      this.#total -= 1;
      this.#forget(key);
    });
    return true;
  }

  /** The connection showed who it is. */
  known(socket: Peer): void {
    this.#forget(keyOf(socket));
  }

  #forget(key: string): void {
    const address = this.#strangers.get(key);
    if (address === undefined) return;
    this.#strangers.delete(key);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(address, left);
    else this.#perAddress.delete(address);
  }
}

const keyOf = ({ remoteAddress, remotePort }: Peer) => `${remoteAddress}|${remotePort}`;
