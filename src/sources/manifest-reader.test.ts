import assert from 'node:assert/strict';
import test from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { ManifestReader } from './manifest-reader.ts';
import { readManifest } from './parse-pod.ts';

// The clock stands: the limit of time is not what is tested, and a busy machine would reach it.
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const origin = { kind: 'file', location: '/m/a.yaml', nodeName: 'n1' } as const;

function large(count: number): string {
  const containers = Array.from(
    { length: count },
    (_, i) => `  - {name: c${i}, image: "x:1", env: [{name: A, value: "${'v'.repeat(100)}"}]}\n`,
  );
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {k: v}}\nspec:\n  containers:\n${containers.join('')}`;
}

test('a large manifest is read in a thread: the same pod, and the event loop goes on', async () => {
  const reader = new ManifestReader(new SimClock());
  const data = Buffer.from(large(1500));
  assert.ok(data.length > 200_000);
  let turns = 0;
  let reading = true;
  const counting = (async () => {
    for (; reading; turns++) await turn();
  })();
  const manifest = await reader.read(data, origin);
  reading = false;
  await counting;
  await reader.close();
  const inline = readManifest(data, origin);
  assert.deepEqual(manifest, inline);
  assert.equal(Object.getPrototypeOf(manifest.pods[0]?.metadata.labels), null);
  assert.ok(turns > 50, `${turns} turns of the event loop while it was read`);
});

test('faults come back from the thread, and it serves the next manifest', async () => {
  const reader = new ManifestReader(new SimClock());
  const bad = await reader.read(Buffer.from(large(300).replace('kind: Pod', 'kind: Pot')), origin);
  assert.deepEqual([bad.pods, bad.faults[0]?.field, bad.faults[0]?.line], [[], 'kind', 2]);
  const deep = await reader.read(Buffer.from(`a: ${'['.repeat(8000)}`), origin);
  assert.equal(deep.faults[0]?.code, 'nesting');
  const good = await reader.read(Buffer.from(large(300)), origin);
  assert.equal(good.pods[0]?.spec.containers.length, 300);
  await reader.close();
});

test('a file over the limit never reaches the thread', async () => {
  const reader = new ManifestReader(new SimClock());
  const { faults } = await reader.read(Buffer.alloc((10 << 20) + 1), origin);
  assert.equal(faults[0]?.code, 'too-large');
  await reader.close();
});
