import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../../test/sim/clock.ts';
import { silentLogger } from '../../observe/log.ts';
import { type StagedVolume, StagedVolumes } from './staged-volumes.ts';

const volume: StagedVolume = { driver: 'd', handle: 'h', name: 'pv', isBlock: false };

class World {
  readonly clock = new SimClock();
  readonly did: string[] = [];
  usedOnDisk = false;
  failures = 0;
  unstaging: Promise<void> = Promise.resolve();
  readonly staged = new StagedVolumes({
    clock: this.clock,
    log: silentLogger,
    isUsedOnDisk: async () => this.usedOnDisk,
    unstage: async () => {
      this.did.push('unstage');
      await this.unstaging;
      if (this.failures-- > 0) throw new Error('busy');
    },
    changed: () => this.did.push(`in use: ${this.staged.inUse().length}`),
  });

  stage(): Promise<void> {
    return this.staged.stage(volume, async () => void this.did.push('stage'));
  }
}

describe('a volume that several pods use', () => {
  it('is staged before the first and unstaged after the last', async () => {
    const world = new World();
    world.staged.want(volume, 'a');
    world.staged.want(volume, 'b');
    await Promise.all([world.stage(), world.stage()]);
    world.staged.drop(volume, 'a');
    await world.clock.advance(1);
    assert.deepEqual(world.did, ['in use: 1', 'stage']);
    world.staged.drop(volume, 'b');
    await world.clock.advance(1);
    assert.deepEqual(world.did, ['in use: 1', 'stage', 'unstage', 'in use: 0']);
  });

  it('is unstaged until that works, and staged again for a pod that comes meanwhile', async () => {
    const world = new World();
    world.staged.want(volume, 'a');
    await world.stage();
    world.failures = 2;
    world.staged.drop(volume, 'a');
    await world.clock.advance(499);
    assert.equal(world.did.filter((d) => d === 'unstage').length, 1);
    await world.clock.advance(1);
    assert.equal(world.did.filter((d) => d === 'unstage').length, 2);
    world.staged.want(volume, 'b');
    await world.stage();
    await world.clock.advance(10_000);
    assert.deepEqual(world.did, ['in use: 1', 'stage', 'unstage', 'unstage', 'stage']);
    world.staged.drop(volume, 'b');
    await world.clock.advance(1);
    assert.deepEqual(world.staged.inUse(), []);
  });

  it('is not staged while it is being unstaged', async () => {
    const world = new World();
    const gate = Promise.withResolvers<void>();
    world.staged.want(volume, 'a');
    await world.stage();
    world.unstaging = gate.promise;
    world.staged.drop(volume, 'a');
    await world.clock.advance(1);
    world.staged.want(volume, 'b');
    const staged = world.stage();
    await world.clock.advance(1);
    assert.deepEqual(world.did, ['in use: 1', 'stage', 'unstage']);
    gate.resolve();
    await staged;
    assert.deepEqual(world.did, ['in use: 1', 'stage', 'unstage', 'stage']);
    assert.equal(world.staged.inUse().length, 1);
  });

  it('stays while the disk shows a pod that has it', async () => {
    const world = new World();
    world.usedOnDisk = true;
    world.staged.found(volume);
    world.staged.sweep();
    await world.clock.advance(60_000);
    assert.deepEqual(world.did, ['in use: 1']);
    world.usedOnDisk = false;
    world.staged.drop(volume, 'a');
    await world.clock.advance(1);
    assert.deepEqual(world.did, ['in use: 1', 'unstage', 'in use: 0']);
  });

  it('is tried again by the next pod when staging failed, and forgotten with a pod that never had it', async () => {
    const world = new World();
    world.staged.want(volume, 'a');
    await assert.rejects(
      world.staged.stage(volume, async () => {
        throw new Error('no');
      }),
      /no/,
    );
    await world.stage();
    assert.deepEqual(world.did, ['in use: 1', 'stage']);
    world.staged.dropPod('other');
    world.staged.dropPod('a');
    await world.clock.advance(1);
    assert.deepEqual(world.staged.inUse(), []);
  });
});
