import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scenarios } from './contract-scenarios.ts';
import { runSimulated } from './contract-world.ts';

for (const [name, scenario] of Object.entries(scenarios)) {
  test(`the simulated runtime tells the story "${name}" the same way whatever the seed`, async () => {
    const first = await runSimulated(scenario, 1);
    assert.ok(first.length > 5);
    for (let seed = 2; seed <= 6; seed++) assert.deepEqual(await runSimulated(scenario, seed), first);
  });
}
