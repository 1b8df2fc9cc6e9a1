import { simCommand } from './behaviour.ts';
import { SimClock } from './clock.ts';
import type { ContractWorld, Transcript } from './contract-scenarios.ts';
import { SimRandom } from './random.ts';
import { SimRuntime } from './runtime.ts';

/** Runs a contract scenario on the simulated runtime. */
export async function runSimulated(scenario: (w: ContractWorld) => Promise<Transcript>, seed: number): Promise<Transcript> {
  const clock = new SimClock();
  const runtime = new SimRuntime({ clock, random: new SimRandom(seed) });
  runtime.registry.add('registry.local/busybox:1');
  const world: ContractWorld = {
    runtime,
    images: runtime.images,
    clock,
    image: 'registry.local/busybox:1',
    prefix: `sim${seed}`,
    logDirectory: '/var/log/pods',
    restart: (downMs) => {
      runtime.restart(downMs);
      return clock.sleep(downMs + 100);
    },
    commands: {
      runs: simCommand({}),
      ignoresTerm: simCommand({ term: 'ignore' }),
      obeysTerm: simCommand({ term: 20, termCode: 0 }),
      exits0: simCommand({ runMs: 50 }),
      exits3: simCommand({ runMs: 50, exitCodes: [3] }),
      exits4Later: simCommand({ runMs: 1500, exitCodes: [4] }),
      missing: simCommand({ startError: 'exec: "/nope": stat /nope: no such file or directory' }),
    },
  };
  let settled = false;
  const running = scenario(world).finally(() => {
    settled = true;
  });
  running.catch(() => {});
  if (!(await clock.runUntil(() => settled, 3_600_000))) throw new Error('the scenario never ends');
  return running;
}
