import { connect, isIP } from 'node:net';
import { dialError } from './network-error.ts';
import type { ProbeOutcome } from './outcome.ts';
import { joinHostPort } from './port.ts';
import type { Schedule } from './schedule.ts';

/** A connection that stands is a success; it is closed at once. Rejects on an abort only. */
export function tcpProbe(schedule: Schedule, host: string, port: number, timeoutMs: number, signal: AbortSignal): Promise<ProbeOutcome> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const address = host === '' ? 'localhost' : host;
    const socket = connect({ host: address, port, autoSelectFamily: isIP(address) === 0 });
    // What a server says first is of no interest.
    socket.pause();
    const finish = () => {
      timeout.cancel();
      signal.removeEventListener('abort', onAbort);
      socket.destroy();
    };
    const answer = (result: 'success' | 'failure', output: string) => {
      resolve({ result, output });
      finish();
    };
    const onAbort = () => {
      reject(signal.reason as Error);
      finish();
    };
    const timeout = schedule.after(timeoutMs, () => answer('failure', `dial tcp ${joinHostPort(host, port)}: i/o timeout`));
    signal.addEventListener('abort', onAbort);
    socket.on('connect', () => answer('success', ''));
    socket.on('error', (err) => answer('failure', dialError(err).message));
  });
}
