import type { PodResourceInfo } from '../api/allocation.ts';
import type { ResourceList, ResourceRequirements } from '../api/types.ts';

import { goJson } from '../compat/go-json.ts';
import { textChecksum } from '../resources/checkpoint/checksum.ts';

/** A checkpoint that cannot be used. The message names what is wrong with it, not where it lies. */
export class CheckpointError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckpointError';
  }
}

/** The text of `allocated_pods_state` and `actuated_pods_state`, which the real kubelet reads, too (contract: node.md §14). */
export function formatCheckpoint(entries: ReadonlyMap<string, PodResourceInfo>): string {
  const pods = [...entries].map(([uid, info]) => `${goJson(uid)}:${entryText(info)}`);
  const data = pods.length === 0 ? '{}' : `{"entries":{${pods.join(',')}}}`;
  return `{"data":${goJson(data)},"checksum":${textChecksum(data)}}`;
}

/** An entry is never changed, only replaced: of a full node one entry is new at a write. */
const texts = new WeakMap<PodResourceInfo, string>();

function entryText(info: PodResourceInfo): string {
  let text = texts.get(info);
  if (text === undefined) {
    const { containers, pod = null } = info;
    text = `{"ContainerResources":${goJson(containers)},"PodLevelResources":${goJson(pod)},"EmptyDirVolumeLimits":null}`;
    texts.set(info, text);
  }
  return text;
}

/** The entries by pod UID. Throws CheckpointError on anything that is not such a file, or whose checksum does not match. */
export function parseCheckpoint(text: string): Map<string, PodResourceInfo> {
  const file = objectOf(jsonOf(text, 'the file'), 'the file');
  const { data, checksum } = file;
  if (typeof data !== 'string') throw new CheckpointError('data is not a text');
  const actual = textChecksum(data);
  if (checksum !== actual) throw new CheckpointError(`checkpoint is corrupted: checksum is ${String(checksum)}, its data gives ${actual}`);
  const { entries } = objectOf(jsonOf(data, 'data'), 'data');
  const found = new Map<string, PodResourceInfo>();
  for (const [uid, entry] of Object.entries(objectOf(entries ?? {}, 'entries'))) found.set(uid, infoOf(entry, uid));
  return found;
}

function infoOf(entry: unknown, uid: string): PodResourceInfo {
  const { ContainerResources, PodLevelResources } = objectOf(entry, uid);
  const containers: Record<string, ResourceRequirements> = {};
  for (const [name, resources] of Object.entries(objectOf(ContainerResources ?? {}, `${uid}: ContainerResources`))) {
    containers[name] = requirementsOf(resources, `${uid}: ${name}`);
  }
  if (PodLevelResources === undefined || PodLevelResources === null) return { containers };
  return { containers, pod: requirementsOf(PodLevelResources, `${uid}: PodLevelResources`) };
}

function requirementsOf(value: unknown, where: string): ResourceRequirements {
  const { limits, requests, claims } = objectOf(value, where);
  const out: ResourceRequirements = {};
  if (limits !== undefined && limits !== null) out.limits = listOf(limits, `${where}: limits`);
  if (requests !== undefined && requests !== null) out.requests = listOf(requests, `${where}: requests`);
  if (Array.isArray(claims)) out.claims = claims as NonNullable<ResourceRequirements['claims']>;
  return out;
}

function listOf(value: unknown, where: string): ResourceList {
  const list = objectOf(value, where);
  for (const [name, quantity] of Object.entries(list)) {
    if (typeof quantity !== 'string') throw new CheckpointError(`${where}: ${name} is not a quantity`);
  }
  return list as ResourceList;
}

function objectOf(value: unknown, where: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new CheckpointError(`${where} is not an object`);
  return value as Record<string, unknown>;
}

function jsonOf(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CheckpointError(`${where} is not JSON`);
  }
}
