import { type FileStamp, fileStamp } from '../host/file-stamp.ts';
import { nodeFiles } from '../host/files-node.ts';
import { PathWatch } from '../host/watch-path.ts';

/** A running watch: `refresh` sets it on what is there now. */
export interface ManifestWatch {
  refresh(): Promise<void>;
  close(): void;
}

/** What the manifest directory needs of a file system. Errors are Node's. */
export interface ManifestFs {
  /** Follows symlinks. */
  stamp(path: string): Promise<FileStamp>;
  /** Names in a directory, in any order. */
  names(path: string): Promise<string[]>;
  /** At most `maxBytes` of a regular file; never waits for a writer. */
  read(path: string, maxBytes: number): Promise<Uint8Array>;
  /** Whether there is nothing of that name, not even a link to nothing. */
  isGone(path: string): Promise<boolean>;
  /** `changed` gets the name of the entry that changed (undefined: the path itself), and whether it came or went. */
  watch(path: string, changed: (name: string | undefined, renamed: boolean) => void, failed: (error: unknown) => void): ManifestWatch;
}

export const nodeManifestFs: ManifestFs = {
  stamp: fileStamp,
  names: async (path) => (await nodeFiles.list(path)).map(({ name }) => name),
  read: (path, maxBytes) => nodeFiles.read(path, maxBytes),
  isGone: async (path) => (await nodeFiles.lstat(path)) === undefined,
  watch: (path, changed, failed) => new PathWatch(path, changed, failed),
};
