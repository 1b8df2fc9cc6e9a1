import type { Volume } from '../../api/types.ts';
import type { SlowFiles } from '../../host/file-threads/file-threads.ts';
import { type FileInfo, type Files, isErrno } from '../../host/files.ts';
import type { OwnedFiles } from '../../host/owned-files.ts';
import type { VolumeContext, VolumePlugin } from '../plugin.ts';
import { VolumeError } from '../volume-error.ts';

export interface HostPathDeps {
  files: Files;
  owned: OwnedFiles;
  /** The path may lie on a file system whose server is dead. */
  slowFiles: SlowFiles;
}

interface Expected {
  kind: FileInfo['kind'];
  /** As the error calls it. */
  text: string;
}

const TypeKinds: ReadonlyMap<string, Expected> = new Map([
  ['Directory', { kind: 'directory', text: 'directory' }],
  ['File', { kind: 'file', text: 'file' }],
  ['Socket', { kind: 'socket', text: 'socket file' }],
  ['CharDevice', { kind: 'character', text: 'character device' }],
  ['BlockDevice', { kind: 'block', text: 'block device' }],
]);
const LookMs = 10_000;

/** A path of the host. The agent makes it, where the type says so, and never removes it. */
export class HostPath implements VolumePlugin {
  readonly name = 'kubernetes.io/host-path';
  readonly readOnly = false;
  readonly relabel = false;
  readonly refreshes = false;
  readonly isHostPath = true;
  readonly #deps: HostPathDeps;

  constructor(deps: HostPathDeps) {
    this.#deps = deps;
  }

  supports(volume: Volume): boolean {
    return volume.hostPath !== undefined && volume.hostPath !== null;
  }

  async setUp({ volume }: VolumeContext): Promise<void> {
    const { path = '', type = '' } = volume.hostPath ?? {};
    if (!path.startsWith('/') || path.includes('\0'))
      throw new VolumeError('invalid', `invalid HostPath ${JSON.stringify(path)}: must be absolute`);
    if (path.split('/').includes('..')) throw new VolumeError('invalid', `invalid HostPath ${JSON.stringify(path)}: must not contain '..'`);
    if (type === '') return;
    const wanted = type.endsWith('OrCreate') ? type.slice(0, -'OrCreate'.length) : type;
    const expected = TypeKinds.get(wanted);
    if (expected === undefined || (wanted !== type && wanted !== 'Directory' && wanted !== 'File')) {
      throw new VolumeError('invalid', `${type} is an invalid volume type`);
    }
    const found = await this.#kind(path);
    if (found === undefined && wanted !== type) return this.#create(path, expected);
    if (found === expected.kind) return;
    const actual = found === undefined ? 'it does not exist' : `it's a ${found}`;
    throw new VolumeError('invalid', `hostPath type check failed: ${path} is not a ${expected.text}, ${actual}`);
  }

  #kind(path: string): Promise<FileInfo['kind'] | undefined> {
    return this.#deps.slowFiles.run('kind', [path], LookMs);
  }

  /** Whatever appears there meanwhile is looked at, never opened or followed. */
  async #create(path: string, expected: Expected): Promise<void> {
    const { files, owned } = this.#deps;
    if (expected.kind === 'directory') return files.mkdir(path, 0o755);
    try {
      await owned.createFile(path, new Uint8Array(), 0o644);
    } catch (err) {
      if (!isErrno(err, 'EEXIST')) throw err;
      if ((await this.#kind(path)) !== expected.kind) {
        throw new VolumeError('invalid', `hostPath type check failed: ${path} is not a ${expected.text}`, err);
      }
    }
  }

  hostPath(volume: Volume): string {
    return volume.hostPath?.path ?? '';
  }

  async tearDown(): Promise<void> {}
}
