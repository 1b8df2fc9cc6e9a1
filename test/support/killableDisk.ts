import type { Files } from '../../src/host/files.ts';
import { turn } from './setReader.ts';

interface PendingWrite {
  path: string;
  text: string;
  done(err?: Error): void;
}

/** A disk whose writes end when the test says so: well, with an error, or never, when the process is killed with a write under way. */
export class KillableDisk {
  readonly texts = new Map<string, string>();
  #pending: PendingWrite[] = [];

  /** What one process has of the disk. After `kill` nothing comes back to it. */
  readonly files: Pick<Files, 'read' | 'writeAtomic'> = {
    read: async (path) => {
      const text = this.texts.get(path);
      if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
      return Buffer.from(text);
    },
    writeAtomic: (path, data) =>
      new Promise((resolve, reject) => {
        this.#pending.push({ path, text: data.toString(), done: (err) => (err === undefined ? resolve() : reject(err)) });
      }),
  };

  /** Ends every write under way, and those that follow from it. */
  async settle(fails = false): Promise<void> {
    await turn();
    while (this.#pending.length > 0) {
      for (const { path, text, done } of this.#pending.splice(0)) {
        if (fails) done(Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }));
        else {
          this.texts.set(path, text);
          done();
        }
      }
      await turn();
      if (fails) return;
    }
  }

  /** SIGKILL: a write under way reached the disk, or did not. */
  kill(reached: boolean): void {
    for (const { path, text } of this.#pending.splice(0)) if (reached) this.texts.set(path, text);
  }
}
