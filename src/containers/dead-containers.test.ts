import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../observe/log.ts';
import type { PodMember } from './container-gc.ts';
import { DeadContainers } from './dead-containers.ts';

const member = (id: string, name: string, state: string, createdAt: number): PodMember => ({
  id,
  name,
  state,
  status: { createdAt: BigInt(createdAt) },
});

const pod: PodMember[] = [
  member('a1', 'a', 'exited', 1),
  member('a3', 'a', 'exited', 3),
  member('a2', 'a', 'exited', 2),
  member('a4', 'a', 'running', 4),
  member('b1', 'b', 'exited', 1),
  member('b2', 'b', 'running', 2),
];

async function prune(maxPerContainer: number, refused: string[] = []): Promise<string[]> {
  const removed: string[] = [];
  const remove = async (id: string) => {
    if (refused.includes(id)) throw new Error('away');
    removed.push(id);
  };
  await new DeadContainers({ remover: { remove }, maxPerContainer, log: silentLogger }).prune(pod);
  return removed;
}

test('older dead instances of a container go, down to the bound, and the newest of each always stays', async () => {
  assert.deepEqual(await prune(1), ['a2', 'a1']);
  assert.deepEqual(await prune(2), ['a1']);
  assert.deepEqual(await prune(0), ['a2', 'a1']);
  assert.deepEqual(await prune(-1), ['a2', 'a1']);
  assert.deepEqual(await prune(3), []);
});

test('one that will not go holds up neither the others nor the pod', async () => {
  assert.deepEqual(await prune(1, ['a2']), ['a1']);
});
