/** One line of a pod's record. */
export interface TimelineEntry {
  /** Wall-clock milliseconds. */
  at: number;
  what: string;
  detail?: string;
}

const PER_POD = 200;

/** What the agent decided and did for each pod, with times: the last entries of every pod it knows. */
export class Timeline {
  readonly #now: () => number;
  readonly #pods = new Map<string, TimelineEntry[]>();

  constructor(now: () => number) {
    this.#now = now;
  }

  note(uid: string, what: string, detail?: string): void {
    let entries = this.#pods.get(uid);
    if (entries === undefined) {
      entries = [];
      this.#pods.set(uid, entries);
    }
    entries.push({ at: this.#now(), what, ...(detail === undefined ? {} : { detail }) });
    if (entries.length > PER_POD) entries.shift();
  }

  of(uid: string): readonly TimelineEntry[] {
    return this.#pods.get(uid) ?? [];
  }

  forget(uid: string): void {
    this.#pods.delete(uid);
  }
}
