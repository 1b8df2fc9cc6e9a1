import { posix } from 'node:path';
import type { Pod } from '../../api/types.ts';
import type { RuntimeHandler, UserNamespace } from '../../cri/types.ts';
import { type Files, isErrno } from '../../host/files.ts';
import type { Logger } from '../../observe/log.ts';
import { type IdRange, IdRanges } from './id-ranges.ts';
import { formatMappings, MappingsFile, parseMappings } from './mappings-file.ts';

export interface UserNamespacesDeps {
  files: Pick<Files, 'list' | 'read' | 'mkdir' | 'writeAtomic' | 'unlink'>;
  log: Logger;
  /** {root}/pods. */
  podsDir: string;
  /** The ids for pods; they passed `rangeFault`. */
  ids: IdRange;
  idsPerPod: number;
  /** What the runtime said of its handlers; empty when it says nothing of them. */
  handlers(): readonly RuntimeHandler[];
}

const HostNamespace: UserNamespace = { mode: 'NODE', uids: [], gids: [] };
const FileLimit = 64 * 1024;

/**
 * Gives each pod with `hostUsers: false` a block of the host's ids that no other pod has, and keeps it in the pod's directory
 * over restarts of the agent (contract: node.md §13).
 */
export class UserNamespaces {
  readonly #deps: UserNamespacesDeps;
  readonly #ranges: IdRanges;
  /** Pods whose file cannot be read, and why: what they use is not known, so nothing new is handed out meanwhile. */
  readonly #unreadable = new Map<string, string>();

  constructor(deps: UserNamespacesDeps) {
    this.#deps = deps;
    this.#ranges = new IdRanges(deps.ids, deps.idsPerPod);
  }

  /** Once, before the first pod: learns what the pods on disk have. */
  async open(): Promise<void> {
    const { log } = this.#deps;
    for (const uid of await this.#podsOnDisk()) {
      try {
        await this.#recall(uid);
      } catch (err) {
        const reason = err instanceof Error ? err.message : String(err);
        this.#unreadable.set(uid, reason);
        log.error(err, 'Cannot use the user namespace of a pod; no pod gets a new one until this file is mended or removed', {
          podUID: uid,
          path: this.#file(uid),
        });
      }
    }
  }

  /** What the runtime is told. Rejects when the pod wants a namespace that it cannot have. */
  async of(pod: Pod, runtimeHandler: string): Promise<UserNamespace> {
    if (pod.spec.hostUsers !== false) return HostNamespace;
    this.#requireSupport(runtimeHandler);
    const { uid } = pod.metadata;
    try {
      const range = (await this.#recall(uid)) ?? (await this.#make(uid));
      const mapping = [{ hostId: range.first, containerId: 0, length: range.length }];
      return { mode: 'POD', uids: mapping, gids: mapping };
    } catch (err) {
      throw new Error(`user namespace: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
    }
  }

  /** The pod's last container has ended: its ids are free again. */
  async release(uid: string): Promise<void> {
    if (!this.#ranges.has(uid) && !this.#unreadable.has(uid)) return;
    // The file first: while it is there the block counts as used by the next run of the agent.
    await this.#deps.files.unlink(this.#file(uid)).catch((err: unknown) => {
      if (!isErrno(err, 'ENOENT', 'ENOTDIR')) throw err;
    });
    this.#ranges.release(uid);
    this.#unreadable.delete(uid);
    this.#deps.log.debug(5, 'Released pod user namespace allocation', { podUID: uid });
  }

  /** Frees the ids of pods that nobody knows any more. What fails is logged, and tried at the next sweep. */
  async sweep(isKnown: (uid: string) => boolean): Promise<void> {
    for (const uid of new Set([...this.#ranges.holders(), ...this.#unreadable.keys()])) {
      if (isKnown(uid)) continue;
      await this.release(uid).catch((err: unknown) =>
        this.#deps.log.error(err, 'Failed to release the user namespace of an unknown pod', { podUID: uid }),
      );
    }
  }

  #requireSupport(runtimeHandler: string): void {
    const handlers = this.#deps.handlers();
    const refusal =
      runtimeHandler === ''
        ? "can't set `spec.hostUsers: false`, runtime does not support user namespaces"
        : `can't set \`spec.hostUsers: false\`, RuntimeClass handler ${JSON.stringify(runtimeHandler)} does not support user namespaces`;
    if (handlers.length === 0) throw new Error(refusal);
    const handler = handlers.find(({ name }) => name === runtimeHandler);
    if (handler === undefined) throw new Error(`${refusal}: the handler ${JSON.stringify(runtimeHandler)} is not known`);
    if (handler.features?.userNamespaces !== true) throw new Error(refusal);
  }

  /** What the pod has by its file; undefined when it has none. */
  async #recall(uid: string): Promise<IdRange | undefined> {
    let text: string;
    try {
      text = (await this.#deps.files.read(this.#file(uid), FileLimit)).toString();
    } catch (err) {
      if (isErrno(err, 'ENOENT', 'ENOTDIR')) return undefined;
      throw err;
    }
    if (text === '') return undefined;
    const range = parseMappings(text);
    this.#ranges.claim(uid, range);
    this.#unreadable.delete(uid);
    return range;
  }

  async #make(uid: string): Promise<IdRange> {
    const [other] = this.#unreadable;
    if (other !== undefined && other[0] !== uid) {
      throw new Error(`no new one is given while ${this.#file(other[0])} cannot be used (${other[1]}): mend or remove it`);
    }
    const { files, podsDir, log } = this.#deps;
    // A pod whose file went away keeps its block: its containers use it.
    const range = this.#ranges.of(uid) ?? this.#ranges.take(uid);
    try {
      await files.mkdir(posix.join(podsDir, uid), 0o750);
      await files.writeAtomic(this.#file(uid), formatMappings(range), 0o600);
    } catch (err) {
      this.#ranges.release(uid);
      throw err;
    }
    this.#unreadable.delete(uid);
    log.debug(5, 'New pod user namespace allocation', { podUID: uid, firstID: range.first });
    return range;
  }

  async #podsOnDisk(): Promise<string[]> {
    try {
      return (await this.#deps.files.list(this.#deps.podsDir)).filter(({ kind }) => kind === 'directory').map(({ name }) => name);
    } catch (err) {
      if (isErrno(err, 'ENOENT')) return [];
      throw err;
    }
  }

  #file(uid: string): string {
    return posix.join(this.#deps.podsDir, uid, MappingsFile);
  }
}
