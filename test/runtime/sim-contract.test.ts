import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import type { ConnectedRuntime } from '../../src/cri/connect.ts';
import { isCriError } from '../../src/cri/errors.ts';
import { systemClock } from '../../src/host/clock.ts';
import { type ContractWorld, scenarios } from '../sim/contract-scenarios.ts';
import { runSimulated } from '../sim/contract-world.ts';
import { BUSYBOX_IMAGE, connectTo, type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import { STAY } from '../support/shellContainer.ts';

/** The simulated runtime is worth what it shares with a real one: both tell each story in the same words. */

let containerd: PrivateContainerd | undefined;
let cri: ConnectedRuntime | undefined;

before(async () => {
  containerd = await startContainerd();
  cri = await connectTo(containerd, 120_000);
});

after(async () => {
  cri?.close();
  await containerd?.stop();
});

/** The client looks for a lost runtime every few seconds. */
async function reconnected(runtime: ConnectedRuntime['runtime']): Promise<void> {
  for (let i = 0; i < 50; i++) {
    try {
      await runtime.version();
      return;
    } catch (err) {
      if (!isCriError(err, 'Unavailable')) throw err;
      await systemClock.sleep(200);
    }
  }
  throw new Error('the client does not connect again');
}

for (const [name, scenario] of Object.entries(scenarios)) {
  test(`containerd and the simulated runtime tell the story "${name}" in the same words`, async () => {
    assert.ok(cri && containerd);
    const daemon = containerd;
    const runtime = cri.runtime;
    const logDirectory = `${containerd.dir}/contract-logs`;
    await mkdir(`${logDirectory}/${name}`, { recursive: true });
    const sh = (script: string) => ['/bin/sh', '-c', script];
    const world: ContractWorld = {
      runtime,
      images: cri.images,
      clock: systemClock,
      image: BUSYBOX_IMAGE,
      prefix: `contract${process.pid}`,
      logDirectory,
      restart: async (downMs) => {
        await daemon.kill();
        await systemClock.sleep(downMs);
        await daemon.start();
        await reconnected(runtime);
      },
      cgroupParent: containerd.cgroupRoot,
      commands: {
        runs: sh('sleep 3600'),
        ignoresTerm: sh('trap "" TERM; while true; do sleep 1; done'),
        obeysTerm: sh(STAY),
        exits0: sh('exit 0'),
        exits3: sh('exit 3'),
        exits4Later: sh('sleep 1.5; exit 4'),
        missing: ['/nope'],
      },
    };
    const real = await scenario(world);
    assert.deepEqual(await runSimulated(scenario, 1), real);
  });
}
