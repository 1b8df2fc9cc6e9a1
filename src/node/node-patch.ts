import { isDeepStrictEqual } from 'node:util';
import type { Node, NodeCondition, NodeStatus } from '../kube/types.ts';

type Json = Record<string, unknown>;

/**
 * The strategic merge patch (subresource status) that turns `from` into `to`, naming only what differs, so that it never
 * undoes what somebody else wrote meanwhile; undefined when there is nothing to change. It holds the UID: the server
 * refuses (Conflict) to write on a node of the same name that came later.
 */
export function nodePatch(from: Node, to: Node): Json | undefined {
  const metadata = changes(pick(from.metadata), pick(to.metadata)) ?? {};
  const status = statusChanges(from.status ?? {}, to.status ?? {});
  if (status === undefined && Object.keys(metadata).length === 0) return undefined;
  const uid = from.metadata.uid === undefined ? {} : { uid: from.metadata.uid };
  return { metadata: { ...uid, ...metadata }, ...(status === undefined ? {} : { status }) };
}

/** Whether the node differs in more than the times of its heartbeats. */
export function nodeChanged(from: Node, to: Node): boolean {
  const still = (status: NodeStatus = {}): NodeStatus => ({
    ...status,
    conditions: (status.conditions ?? []).map(({ lastHeartbeatTime: _time, ...rest }) => rest),
  });
  return changes(pick(from.metadata), pick(to.metadata)) !== undefined || statusChanges(still(from.status), still(to.status)) !== undefined;
}

const pick = ({ labels = {}, annotations = {} }: Node['metadata']): Json => ({ labels, annotations });

function statusChanges(from: NodeStatus, to: NodeStatus): Json | undefined {
  const { conditions: wereConditions = [], addresses: wereAddresses = [], ...were } = from;
  const { conditions = [], addresses = [], ...are } = to;
  const patch: Json = changes(were, are) ?? {};
  const changed = conditionChanges(wereConditions, conditions);
  if (changed.length > 0) patch['conditions'] = changed;
  // The server would merge this list by type, of which there may be two: it is replaced as a whole.
  if (!isDeepStrictEqual(wereAddresses, addresses)) patch['addresses'] = [...addresses, { $patch: 'replace' }];
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function conditionChanges(from: readonly NodeCondition[], to: readonly NodeCondition[]): Json[] {
  const old = new Map(from.map((c) => [c.type, c]));
  return to.flatMap((condition) => {
    const patch = changes({ ...old.get(condition.type) }, { ...condition });
    return patch === undefined ? [] : [{ ...patch, type: condition.type }];
  });
}

/** A merge patch between two objects; lists are replaced. Absent and empty are the same, as they are to the server. */
function changes(from: Json, to: Json): Json | undefined {
  const patch: Json = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const a = from[key];
    const b = to[key];
    if ((isEmpty(a) && isEmpty(b)) || isDeepStrictEqual(a, b)) continue;
    if (b === undefined) patch[key] = null;
    else if (isObject(a) && isObject(b)) {
      const inner = changes(a, b);
      if (inner !== undefined) patch[key] = inner;
    } else patch[key] = b;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);
