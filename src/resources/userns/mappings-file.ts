import type { IdRange } from './id-ranges.ts';

/** Name of the file in a pod's directory (contract: node.md §13, "kept at"). */
export const MappingsFile = 'userns';

/** The file's text: the container's ids from 0 on are the host's ids of `range`, for users and for groups. */
export function formatMappings({ first, length }: IdRange): string {
  const mapping = [{ hostId: first, containerId: 0, length }];
  return JSON.stringify({ uidMappings: mapping, gidMappings: mapping });
}

/** Reads the file. Throws an Error that says what is wrong: only what an agent writes is taken. */
export function parseMappings(text: string): IdRange {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('invalid user namespace mappings file: it is no JSON');
  }
  const [uids, gids] = ['uidMappings', 'gidMappings'].map((name) => onlyMapping(value, name));
  if (uids === undefined || gids === undefined || uids.first !== gids.first || uids.length !== gids.length) {
    throw new Error('invalid user namespace configuration: GID and UID mappings should be identical');
  }
  return uids;
}

function onlyMapping(file: unknown, name: string): IdRange {
  const list = isObject(file) ? file[name] : undefined;
  if (!Array.isArray(list) || list.length !== 1) {
    throw new Error(`invalid user namespace configuration: ${name} must hold one mapping`);
  }
  const [entry] = list as unknown[];
  const { hostId, containerId, length } = isObject(entry) ? entry : {};
  if (!isId(hostId) || !isId(length)) throw new Error(`invalid user namespace configuration: ${name} holds no ids`);
  if (containerId !== 0) throw new Error(`invalid user namespace configuration: id 0 must be mapped in ${name}`);
  return { first: hostId, length };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isId = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
