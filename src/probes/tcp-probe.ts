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
    const onAbort = () => {
      reject(signal.reason as Error);
      socket.destroy();
    };
    const timeout = schedule.after(timeoutMs, () => {
      resolve({ result: 'failure', output: `dial tcp ${joinHostPort(host, port)}: i/o timeout` });
      socket.destroy();
    });
    signal.addEventListener('abort', onAbort, { once: true });
    socket.on('connect', () => {
      resolve({ result: 'success', output: '' });
      socket.destroy();
    });
    socket.on('error', (err) => resolve({ result: 'failure', output: dialError(err).message }));
    socket.on('close', () => {
      timeout.cancel();
      signal.removeEventListener('abort', onAbort);
    });
  });
}
