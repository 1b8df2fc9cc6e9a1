import { type Decoded, decodeConfig, knownNames } from './decode.ts';
import type { ConfigFault, ConfigWarning } from './errors.ts';
import { nearest } from './nearest.ts';
import { parentPath } from './origin.ts';
import { defaultLimits, type Located, type LocatedMap, parseLocated } from './yaml.ts';

export interface DirectoryEntry {
  name: string;
  kind: 'file' | 'directory' | 'symlink' | 'other';
}

/** What reading a configuration needs of the outside. Errors are Node's, with `code`. */
export interface ConfigIo {
  /** At most `maxBytes + 1` bytes, so that a larger file is noticed and not read. */
  readFile(path: string, maxBytes: number): Promise<Uint8Array>;
  listDir(path: string): Promise<DirectoryEntry[]>;
  /** The folder that relative paths count from. */
  cwd: string;
}

export interface ReadConfig {
  decoded?: Decoded;
  faults: ConfigFault[];
  warnings: ConfigWarning[];
}

const reasons: Readonly<Record<string, [rule: string, remedy?: string]>> = {
  ENOENT: ['does not exist'],
  EISDIR: ['is a directory', 'name a file; a folder of drop-ins is given with --config-dir'],
  EACCES: ['may not be read', 'run as root, or allow this user to read it'],
  EPERM: ['may not be read'],
  ELOOP: ['is a symbolic link that leads to itself'],
  ENOTDIR: ['cannot be reached: a part of its path is no directory'],
};

/** The fault of a file or folder that could not be read. Throws `error` again when it is none of the system. */
export function unreadable(file: string, error: unknown): ConfigFault {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') throw error;
  const [rule, remedy] = reasons[error.code] ?? [`cannot be read: ${error.message}`];
  return { code: 'unreadable', file, field: '', rule, ...(remedy === undefined ? {} : { remedy }) };
}

const group = 'kubelet.config.k8s.io/v1beta1';

function textOf(map: LocatedMap, name: string): { node: Located | undefined; text: string | undefined } {
  // The real reader takes these two in any case of letters.
  const key = map.entries.has(name) ? name : [...map.entries.keys()].find((k) => k.toLowerCase() === name.toLowerCase());
  const node = key === undefined ? undefined : map.entries.get(key)?.value;
  return { node, text: node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined };
}

function kindFaults(map: LocatedMap, file: string): ConfigFault[] {
  const faults: ConfigFault[] = [];
  for (const [name, want] of [
    ['apiVersion', group],
    ['kind', 'KubeletConfiguration'],
  ] as const) {
    const { node, text } = textOf(map, name);
    if (text === want) continue;
    const fault = { code: 'kind', file, ...(node?.at ?? map.at), field: name, remedy: `write ${name}: ${want}` } as const;
    if (text === undefined || text === '') faults.push({ ...fault, rule: 'is missing' });
    else faults.push({ ...fault, value: text, rule: `must be ${want}` });
  }
  return faults;
}

/**
 * Reads one file: text, kind, types. A file that is empty, binary, too large, a folder or of another kind is a fault;
 * unknown fields and keys that stand twice are warnings. `patch` is for drop-ins.
 */
export async function readConfigFile(io: ConfigIo, path: string, shownPath: string, patch: boolean): Promise<ReadConfig> {
  let data: Uint8Array;
  try {
    data = await io.readFile(path, defaultLimits.maxBytes);
  } catch (error) {
    return { faults: [unreadable(shownPath, error)], warnings: [] };
  }
  return readConfigData(data, shownPath, patch);
}

/** `readConfigFile` on bytes that are there already. */
export function readConfigData(data: Uint8Array, file: string, patch = false): ReadConfig {
  if (data.byteLength === 0) {
    return { faults: [{ code: 'syntax', file, line: 1, column: 1, field: '', rule: 'the file is empty' }], warnings: [] };
  }
  const parsed = parseLocated(data);
  const faults: ConfigFault[] = parsed.faults.map((f) => ({ code: 'syntax', file, ...f.at, field: '', rule: f.message }));
  const warnings: ConfigWarning[] = parsed.duplicates.map((d) => ({
    file,
    ...d.at,
    field: d.path,
    message: `duplicate key "${d.path}", first in line ${d.firstLine}; the last one counts`,
  }));
  const root = parsed.value;
  if (root === undefined) return { faults, warnings };
  if (parsed.secondDocumentLine !== undefined) {
    warnings.push({ file, line: parsed.secondDocumentLine, column: 1, message: 'only the first document of the file is read' });
  }
  if (root.kind !== 'map') {
    const rule =
      root.kind === 'scalar' && root.value === null ? 'the file holds nothing' : 'must be an object with apiVersion, kind and fields';
    faults.push({ code: 'kind', file, ...root.at, field: '', rule });
    return { faults, warnings };
  }
  const wrongKind = kindFaults(root, file);
  if (wrongKind.length > 0) return { faults: [...faults, ...wrongKind], warnings };
  const decoded = decodeConfig(root, file, patch);
  for (const { path, at } of decoded.unknown) {
    const near = nearest(path.slice(parentPath(path).length).replace(/^\./, ''), knownNames(parentPath(path)));
    const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
    warnings.push({ file, ...at, field: path, message: `unknown field "${path}" is ignored${hint}` });
  }
  return { decoded, faults: [...faults, ...decoded.faults], warnings };
}
