import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CsiDriver, type CsiDriverOptions } from '../../test/support/csi/driver.ts';
import { systemClock } from '../host/clock.ts';
import { nodeFiles } from '../host/files-node.ts';
import { findSockets } from '../host/find-sockets.ts';
import { DirectoriesWatch } from '../host/watch-directories.ts';
import { silentLogger } from '../observe/log.ts';
import { CsiDrivers } from '../volumes/csi/drivers.ts';
import type { NodeInfo } from '../volumes/csi/node-client.ts';
import { CsiPlugin } from './csi-plugin.ts';
import { PluginManager } from './plugin-manager.ts';

/** The manager on a real directory with real sockets; what it tells the cluster is kept. */
class World {
  readonly rootDir = mkdtempSync(join(tmpdir(), 'kts-plugins-'));
  readonly dir = join(this.rootDir, 'plugins_registry');
  readonly drivers = new CsiDrivers(systemClock, { called: () => {} });
  readonly told: string[] = [];
  refuse: string | undefined;
  readonly #stop = new AbortController();
  readonly #manager: PluginManager;
  #waiters: (() => void)[] = [];

  constructor(t: TestContext) {
    const note = (text: string) => {
      this.told.push(text);
      for (const wake of this.#waiters.splice(0)) wake();
    };
    const plugin = new CsiPlugin({
      drivers: this.drivers,
      log: silentLogger,
      changed: (name) => note(`${this.drivers.has(name) ? 'there' : 'gone'} ${name}`),
      publisher: {
        install: async (name: string, info: NodeInfo) => {
          if (this.refuse !== undefined) throw new Error(this.refuse);
          note(`install ${name} ${JSON.stringify(info)}`);
        },
        uninstall: async (name: string) => note(`uninstall ${name}`),
      },
    });
    this.#manager = new PluginManager({
      dir: this.dir,
      clock: systemClock,
      log: silentLogger,
      find: findSockets,
      watch: (changed) => new DirectoriesWatch(changed, () => {}),
      handlers: new Map([['CSIPlugin', plugin]]),
      makeDirectory: (path, mode) => nodeFiles.mkdir(path, mode),
    });
    t.after(async () => {
      this.#stop.abort();
      await this.#manager.stop();
      rmSync(this.rootDir, { recursive: true });
    });
  }

  async start(): Promise<void> {
    await this.#manager.start(this.#stop.signal);
    await this.#manager.ready();
  }

  driver(t: TestContext, name: string, options: Partial<CsiDriverOptions> = {}): CsiDriver {
    const driver = new CsiDriver({ name, rootDir: this.rootDir, dataDir: join(this.rootDir, 'data'), ...options });
    t.after(() => driver.stop());
    return driver;
  }

  /** Until that was told; the test's own time limit is the failure. */
  async until(text: string): Promise<void> {
    while (!this.told.includes(text)) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }
}

test('a driver is registered with what it says of the node, and let go when its socket is gone', { timeout: 30_000 }, async (t) => {
  const world = new World(t);
  const early = world.driver(t, 'early.example', { nodeId: 'n1', maxVolumes: 5, topology: { 'topology.example/zone': 'a' } });
  await early.start();
  await world.start();
  assert.equal(await early.told(), '');
  assert.deepEqual(world.told, [
    'install early.example {"nodeId":"n1","maxVolumes":5,"topology":{"topology.example/zone":"a"}}',
    'there early.example',
  ]);
  const late = world.driver(t, 'late.example');
  await late.start();
  assert.equal(await late.told(), '');
  early.stop();
  await world.until('gone early.example');
  assert.equal(world.drivers.has('early.example'), false);
  assert.equal(world.drivers.has('late.example'), true);
  assert.throws(() => world.drivers.open('early.example'), /driver name early.example not found in the list of registered CSI drivers/);
});

test('a driver that comes back under its name is registered anew', { timeout: 30_000 }, async (t) => {
  const world = new World(t);
  await world.start();
  const driver = world.driver(t, 'd.example');
  for (let round = 0; round < 3; round++) {
    await driver.start();
    assert.equal(await driver.told(), '');
    driver.stop();
  }
  await world.until('gone d.example');
  assert.equal(driver.requests('NodeGetInfo').length, 3);
});

test('only sockets count, and none whose name, or directory, begins with a dot', { timeout: 30_000 }, async (t) => {
  const world = new World(t);
  mkdirSync(join(world.dir, 'below'), { recursive: true });
  writeFileSync(join(world.dir, 'file.sock'), '');
  await world.start();
  const hidden = world.driver(t, '.hidden');
  const inner = world.driver(t, 'below/inner');
  await hidden.start();
  await inner.start();
  assert.equal(await inner.told(), '');
  assert.deepEqual(hidden.calls, []);
});

test('one that never answers holds up no other', { timeout: 30_000 }, async (t) => {
  const world = new World(t);
  const dead = world.driver(t, 'dead.example');
  dead.faults.set('GetInfo', { kind: 'never' });
  const stuck = world.driver(t, 'stuck.example');
  stuck.faults.set('NodeGetInfo', { kind: 'never' });
  const good = world.driver(t, 'good.example');
  for (const driver of [dead, stuck, good]) await driver.start();
  await world.start();
  assert.equal(await good.told(), '');
  assert.equal(world.drivers.has('dead.example'), false);
});

test('what cannot be registered is told why, and tried again', { timeout: 30_000 }, async (t) => {
  const world = new World(t);
  const strange = world.driver(t, 'strange', { type: 'TeaPot' });
  const old = world.driver(t, 'old.example', { versions: ['0.3.0', '2.0.0'] });
  const refused = world.driver(t, 'refused.example');
  world.refuse = 'no such node';
  for (const driver of [strange, old, refused]) await driver.start();
  await world.start();
  assert.match(await strange.told(), /^RegisterPlugin error -- no handler registered for plugin type: TeaPot at socket \//);
  assert.match(await old.told(), /plugin validation failed with err: validation failed for CSI Driver old\.example .*None of the versions/);
  assert.equal(await refused.told(), 'RegisterPlugin error -- plugin registration failed with err: no such node');
  assert.ok(world.told.includes('uninstall refused.example'));
  world.refuse = undefined;
  let answer = '?';
  while (answer !== '') answer = await refused.told();
  assert.equal(world.drivers.has('refused.example'), true);
});
