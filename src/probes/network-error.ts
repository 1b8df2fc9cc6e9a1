import { joinHostPort } from './port.ts';

const texts: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['EHOSTUNREACH', 'no route to host'],
  ['ENETUNREACH', 'network is unreachable'],
  ['ETIMEDOUT', 'connection timed out'],
  ['ECONNRESET', 'connection reset by peer'],
  ['EPIPE', 'broken pipe'],
  ['EADDRNOTAVAIL', 'cannot assign requested address'],
]);

/** An error of a socket in the words that users of Kubernetes know: `dial tcp 10.0.0.1:80: connect: connection refused`. */
export function dialError(err: NodeJS.ErrnoException & { address?: string; port?: number; hostname?: string }): Error {
  const { code = '', syscall = '', address, port } = err;
  const text = texts.get(code);
  if (syscall === 'connect' && text !== undefined && address !== undefined && port !== undefined) {
    return new Error(`dial tcp ${joinHostPort(address, port)}: connect: ${text}`, { cause: err });
  }
  if (syscall === 'getaddrinfo') return new Error(`dial tcp: lookup ${err.hostname ?? ''}: no such host`, { cause: err });
  return text === undefined ? err : new Error(`${syscall}: ${text}`, { cause: err });
}
