/**
 * `npm run test:pressure`: memory, disk and processes run short on a node of the test's own, in a control group and on a
 * small disk of its own, with real pods on a real containerd and API server. Tells who was evicted, in which order, after
 * how long. Exit code 1 when an expectation fails. Names of scenarios, or parts of them, choose some.
 */
import { scenarios } from './scenarios.ts';
import { withPressureWorld } from './world.ts';

const wanted = process.argv.slice(2);
const chosen = scenarios.filter(({ name }) => wanted.length === 0 || wanted.some((text) => name.includes(text)));
const show = (line: string) => void process.stdout.write(`${line}\n`);
const began = performance.now();
let failed = 0;

await withPressureWorld(show, async (world) => {
  for (const scenario of chosen) {
    show(`▶ ${scenario.name}`);
    const start = performance.now();
    try {
      await scenario.run(world);
      show(`✓ ${((performance.now() - start) / 1000).toFixed(1)} s`);
    } catch (error) {
      failed++;
      show(`✗ ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`.replaceAll('\n', '\n    '));
      const log = (await world.node.agent.log()).split('\n').filter((line) => /viction|panic|rror/.test(line));
      for (const line of log.slice(-15)) show(`    ${line.slice(0, 300)}`);
    }
    await world.clear();
  }
});
show(`\n${chosen.length - failed} passed, ${failed} failed (${((performance.now() - began) / 1000).toFixed(1)} s)`);
process.exitCode = failed === 0 ? 0 : 1;
