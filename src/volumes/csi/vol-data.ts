import { posix } from 'node:path';
import { goJson } from '../../compat/go-json.ts';
import { type Files, isErrno } from '../../host/files.ts';
import { VolumeError } from '../volume-error.ts';
import { attachmentName } from './names.ts';

export const VolDataFile = 'vol_data.json';
const MaxBytes = 64 * 1024;

/** What is kept beside a volume so that it can be taken down without its pod. Keys and form are the real kubelet's. */
export interface VolData {
  volumeHandle: string;
  driverName: string;
  /** The volume's, or its PersistentVolume's, name. */
  specVolID?: string;
  nodeName?: string;
  attachmentID?: string;
  /** `Persistent` or `Ephemeral`; of a block volume absent. */
  volumeLifecycleMode?: string;
}

export type LifecycleMode = 'Persistent' | 'Ephemeral';

export interface VolDataInput {
  name: string;
  handle: string;
  driver: string;
  nodeName: string;
  mode?: LifecycleMode;
}

/** The record of a volume that a pod has. */
export function podVolData({ name, handle, driver, nodeName, mode }: VolDataInput): VolData {
  return {
    specVolID: name,
    volumeHandle: handle,
    driverName: driver,
    nodeName,
    attachmentID: attachmentName(handle, driver, nodeName),
    ...(mode === undefined ? {} : { volumeLifecycleMode: mode }),
  };
}

/** Atomic: a crash leaves the old one, or none. */
export async function saveVolData(files: Files, dir: string, data: VolData): Promise<void> {
  await files.writeAtomic(posix.join(dir, VolDataFile), `${goJson(data)}\n`, 0o644);
}

/** Undefined when there is none. Rejects when it cannot be read, or names no volume: then nobody knows how to take it down. */
export async function loadVolData(files: Files, dir: string): Promise<VolData | undefined> {
  const path = posix.join(dir, VolDataFile);
  let text: string;
  try {
    text = (await files.read(path, MaxBytes)).toString();
  } catch (err) {
    if (isErrno(err, 'ENOENT', 'ENOTDIR')) return undefined;
    throw err;
  }
  const data = parse(text);
  if (data === undefined) throw new VolumeError('host', `kubernetes.io/csi: failed to parse volume data file [${path}]`);
  return data;
}

function parse(text: string): VolData | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const data = new Map(Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
  const [volumeHandle, driverName] = [data.get('volumeHandle'), data.get('driverName')];
  if (volumeHandle === undefined || driverName === undefined) return undefined;
  const optional = (key: 'specVolID' | 'nodeName' | 'attachmentID' | 'volumeLifecycleMode') => {
    const text = data.get(key);
    return text === undefined ? {} : { [key]: text };
  };
  return {
    volumeHandle,
    driverName,
    ...optional('specVolID'),
    ...optional('nodeName'),
    ...optional('attachmentID'),
    ...optional('volumeLifecycleMode'),
  };
}

export async function removeVolData(files: Files, dir: string): Promise<void> {
  await files.unlink(posix.join(dir, VolDataFile));
}
