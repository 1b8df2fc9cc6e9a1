import type { LoadIo } from './load.ts';
import type { DirectoryEntry } from './read-file.ts';

/** Files in memory for tests: a text or bytes is a file, `null` is a folder that cannot be read as a file. */
export function memoryIo(files: Readonly<Record<string, string | Uint8Array | null>>): LoadIo {
  const fail = (code: string): Error => Object.assign(new Error(code), { code });
  return {
    cwd: '/cfg',
    async readFile(path) {
      const content = files[path];
      if (content === null || Object.keys(files).some((f) => f.startsWith(`${path}/`))) throw fail('EISDIR');
      if (content === undefined) throw fail('ENOENT');
      return typeof content === 'string' ? Buffer.from(content) : content;
    },
    async listDir(path) {
      const below = Object.keys(files).filter((f) => f.startsWith(`${path}/`));
      if (below.length === 0) throw fail('ENOENT');
      const names = new Map<string, DirectoryEntry['kind']>();
      for (const file of below) {
        const [name = '', ...rest] = file.slice(path.length + 1).split('/');
        names.set(name, rest.length > 0 || files[file] === null ? 'directory' : 'file');
      }
      return [...names].map(([name, kind]) => ({ name, kind }));
    },
    cgroupV2: async () => true,
  };
}

export const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
/** What makes a configuration work without an API server. Three lines. */
export const standalone = 'authentication: {webhook: {enabled: false}}\nauthorization: {mode: AlwaysAllow}\n';
