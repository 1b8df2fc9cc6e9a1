import type { Clock } from '../host/clock.ts';
import { VolumeError } from './volume-error.ts';

/** A disk of a network needs a moment to appear after it was asked for. */
const LookMs = 1_000;
const Looks = 10;

export interface DeviceWait {
  clock: Pick<Clock, 'sleep'>;
  signal: AbortSignal;
  find(): Promise<string | undefined>;
  /** Has the kernel look for new disks; called once, when the disk is not there at first. */
  rescan(): Promise<void>;
  /** Begins the message when it does not come. */
  what: string;
}

/** The path of a disk once it is there; rejects after ten seconds. */
export async function waitForDevice({ clock, signal, find, rescan, what }: DeviceWait): Promise<string> {
  for (let look = 0; look <= Looks; look++) {
    const found = await find();
    if (found !== undefined) return found;
    if (look === 0) await rescan();
    if (look < Looks) await clock.sleep(LookMs, signal);
  }
  throw new VolumeError('host', `${what}: it has not appeared within ${(Looks * LookMs) / 1000} s`);
}
