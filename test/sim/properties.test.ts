import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Story } from './story.ts';

/**
 * The whole agent in a simulated world, by seed. `SIM_SEED=n` replays one story and prints all of it, `SIM_RUNS=n` tells so
 * many instead of the usual number.
 */
const replay = process.env['SIM_SEED'];
const runs = Number(process.env['SIM_RUNS'] ?? 100);
const firstSeed = 1;

async function tell(seed: number): Promise<{ story: Story; trouble: string[] }> {
  const story = new Story({ seed });
  try {
    return { story, trouble: await story.tell() };
  } catch (err) {
    return { story, trouble: [`the story broke off: ${err instanceof Error ? (err.stack ?? err.message) : String(err)}`] };
  }
}

/** What a reader needs to understand a failure: the acts, and the life of the pod that the first trouble names. */
function report(seed: number, { story, trouble }: { story: Story; trouble: string[] }): string {
  const uid = /\b[0-9a-f]{32}\b/.exec(trouble[0] ?? '')?.[0];
  return [
    `seed ${seed} (SIM_SEED=${seed} replays it):`,
    ...trouble.slice(0, 10),
    '--- acts',
    ...story.acts,
    `--- pod ${uid ?? ''} ${JSON.stringify(uid === undefined ? undefined : story.oracle.wanted(uid)?.spec)}`,
    story.world.runtime.journal.story(uid),
    '--- log',
    ...story.world.log.slice(-20),
  ].join('\n');
}

if (replay === undefined) {
  test(`${runs} random stories of a node: one sync of a pod at a time, grace honoured, nothing left over, all pods converge`, async () => {
    for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
      const told = await tell(seed);
      assert.equal(told.trouble.length, 0, told.trouble.length === 0 ? '' : report(seed, told));
    }
  });

  test('a seed tells the same story each time', async () => {
    for (const seed of [3, 16, 72]) {
      const [a, b] = [await tell(seed), await tell(seed)];
      assert.equal(a.story.world.runtime.journal.story(undefined, 100_000), b.story.world.runtime.journal.story(undefined, 100_000));
      assert.deepEqual(a.story.acts, b.story.acts);
    }
  });
} else {
  test(`the story of seed ${replay}`, async () => {
    const told = await tell(Number(replay));
    console.log(report(Number(replay), told));
    assert.deepEqual(told.trouble, []);
  });
}
