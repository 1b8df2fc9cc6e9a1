/** Ids are handed out in blocks of a multiple of this (contract: node.md §13). */
export const UnitLength = 65_536;
const AllIds = 2 ** 32;

/** A range of user and group ids of the host. */
export interface IdRange {
  first: number;
  length: number;
}

/** What may be given to pods where nobody configured it: everything above the host's own block. */
export const defaultIds = (idsPerPod: number): IdRange => ({ first: idsPerPod, length: AllIds - idsPerPod });

/** Why these ids cannot serve `maxPods` pods with `idsPerPod` each; undefined when they can. */
export function rangeFault({ first, length }: IdRange, idsPerPod: number, maxPods: number): string | undefined {
  if (idsPerPod % UnitLength !== 0) return `userNamespaces.idsPerPod ${idsPerPod} is not a multiple of ${UnitLength}`;
  if (first % idsPerPod !== 0) return `the first id ${first} is not a multiple of ${idsPerPod}`;
  // The block of id 0 is the host's: a pod that got it would be root there.
  if (first < idsPerPod) return `the first id ${first} must be ${idsPerPod} or more`;
  if (length % idsPerPod !== 0) return `the number of ids ${length} is not a multiple of ${idsPerPod}`;
  const blocks = Math.trunc(length / idsPerPod);
  if (blocks < maxPods) return `${length} ids are ${blocks} blocks of ${idsPerPod}, not enough for ${maxPods} pods (maxPods)`;
  return undefined;
}

/** Which pod has which block of ids. One pod has at most one block, and no block has two pods. */
export class IdRanges {
  readonly #ids: IdRange;
  readonly #perPod: number;
  readonly #blockOf = new Map<string, number>();
  readonly #taken = new Set<number>();

  /** `ids` passed `rangeFault`. */
  constructor(ids: IdRange, idsPerPod: number) {
    this.#ids = ids;
    this.#perPod = idsPerPod;
  }

  /** The pods that have a block. */
  holders(): string[] {
    return [...this.#blockOf.keys()];
  }

  has(uid: string): boolean {
    return this.#blockOf.has(uid);
  }

  of(uid: string): IdRange | undefined {
    const block = this.#blockOf.get(uid);
    return block === undefined ? undefined : { first: this.#ids.first + block * this.#perPod, length: this.#perPod };
  }

  /** Gives the pod the lowest free block. Throws when it has one already, or when none is left. */
  take(uid: string): IdRange {
    if (this.#blockOf.has(uid)) throw new Error('the pod has a block of ids already');
    const count = Math.trunc(this.#ids.length / this.#perPod);
    let block = 0;
    while (this.#taken.has(block)) block++;
    if (block >= count) throw new Error(`all ${count} blocks of ids are taken`);
    this.#set(uid, block);
    return { first: this.#ids.first + block * this.#perPod, length: this.#perPod };
  }

  /** Notes a block that the pod had before. Throws when it cannot be its block. */
  claim(uid: string, { first, length }: IdRange): void {
    if (length !== this.#perPod) throw new Error(`wrong user namespace length ${length}, pods have ${this.#perPod} ids here`);
    if (first % this.#perPod !== 0) throw new Error(`wrong user namespace offset specified ${first}`);
    const block = (first - this.#ids.first) / this.#perPod;
    if (block < 0 || block >= this.#ids.length / this.#perPod) throw new Error(`id ${first} is out of range`);
    const own = this.#blockOf.get(uid);
    if (own !== undefined && own !== block) throw new Error('the pod uses a different range already');
    if (own === undefined && this.#taken.has(block)) throw new Error(`the range from id ${first} is already taken by another pod`);
    this.#set(uid, block);
  }

  /** Frees the pod's block, if it has one. */
  release(uid: string): void {
    const block = this.#blockOf.get(uid);
    if (block === undefined) return;
    this.#blockOf.delete(uid);
    this.#taken.delete(block);
  }

  #set(uid: string, block: number): void {
    this.#blockOf.set(uid, block);
    this.#taken.add(block);
  }
}
