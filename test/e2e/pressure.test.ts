import assert from 'node:assert/strict';
import test from 'node:test';
import { scenarios } from '../pressure/scenarios.ts';
import { withPressureWorld } from '../pressure/world.ts';

/** The short half of `npm run test:pressure`. */
test('a node under pressure', async (t) => {
  const short = scenarios.filter((scenario) => scenario.short === true);
  await withPressureWorld(
    (line) => t.diagnostic(line.trim()),
    async (world) => {
      for (const scenario of short) {
        await t.test(scenario.name, () => scenario.run(world));
        await world.clear();
      }
      assert.equal(await world.node.agent.healthy(), true, 'the agent is still well after all of them');
    },
  );
});
