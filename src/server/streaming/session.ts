import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../../host/clock.ts';

export interface SessionDeps {
  clock: Clock;
  /** Milliseconds without a byte in either direction after which the session ends; 0 for never. */
  idleTimeoutMs: number;
}

/** After one side is gone, the other has this long to take what was sent to it. */
const CLOSE_GRACE_MS = 10_000;

/**
 * Two connections that live and die together: an error of one ends both, the end of one gives the other a short time to
 * take the rest, silence ends both. Resolves once both are closed.
 */
export function bindLives(client: Duplex, upstream: Duplex, { clock, idleTimeoutMs }: SessionDeps): Promise<void> {
  const both = [client, upstream];
  const timers = new Set<Timer>();
  const end = () => {
    for (const socket of both) socket.destroy();
  };
  let lastByte = clock.monotonic();
  const watchIdle = (): void => {
    const left = lastByte + idleTimeoutMs - clock.monotonic();
    if (left <= 0) end();
    else timers.add(clock.after(Math.max(left, 1), watchIdle, true));
  };
  if (idleTimeoutMs > 0) watchIdle();
  const closed = both.map((socket, i) => {
    const other = both[1 - i];
    socket.on('data', () => {
      lastByte = clock.monotonic();
    });
    socket.on('error', end);
    return new Promise<void>((resolve) => {
      const gone = () => {
        if (other !== undefined && !other.destroyed) {
          other.end();
          timers.add(clock.after(CLOSE_GRACE_MS, end, true));
        }
        resolve();
      };
      if (socket.destroyed) gone();
      else socket.once('close', gone);
    });
  });
  return Promise.all(closed).then(() => {
    for (const timer of timers) timer.cancel();
  });
}

/** Writes and holds up `source` while `target` cannot take more. */
export function writeThrough(target: Duplex, source: Duplex, parts: readonly Buffer[]): void {
  if (target.destroyed || target.writableEnded) return;
  target.cork();
  let room = true;
  for (const part of parts) room = target.write(part);
  target.uncork();
  if (room || source.isPaused()) return;
  source.pause();
  target.once('drain', () => source.resume());
}
