import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../api/types.ts';
import type { PodUsage } from './ranking.ts';
import { rankForEviction } from './ranking.ts';

function pod(name: string, priority: number, memory?: string): Pod {
  const resources = memory === undefined ? {} : { resources: { requests: { memory } } };
  return { metadata: { name, namespace: 'ns', uid: name }, spec: { priority, containers: [{ name: 'c', image: 'i', ...resources }] } };
}

describe('rankForEviction', () => {
  const disks = { imageFs: false, splitImageFs: false };
  const usage: Record<string, PodUsage> = {
    within: { memory: { workingSetBytes: 10 } },
    over: { memory: { workingSetBytes: 30 } },
    important: { memory: { workingSetBytes: 99 } },
  };
  const pods = [pod('important', 1000, '20'), pod('within', 0, '20'), pod('over', 0, '20'), pod('unknown', 5000)];
  const order = (list: Pod[]) =>
    rankForEviction('memory.available', list, (p) => usage[p.metadata.name], disks).map((p) => p.metadata.name);

  it('takes the unknown, then those above their request by priority, then the rest', () => {
    assert.deepEqual(order(pods), ['unknown', 'over', 'important', 'within']);
  });

  it('does not depend on the order it is given, and leaves that alone', () => {
    const reversed = pods.toReversed();
    assert.deepEqual(order(reversed), order(pods));
    assert.deepEqual(reversed, pods.toReversed());
  });
});
