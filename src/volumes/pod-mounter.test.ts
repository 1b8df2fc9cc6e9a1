import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Pod } from '../api/types.ts';
import { Operations } from './operations.ts';
import { PodMounter } from './pod-mounter.ts';
import { textOf, VolumeError } from './volume-error.ts';

describe('PodMounter', () => {
  const pod: Pod = { metadata: { name: 'web', namespace: 'shop', uid: 'u' }, spec: { containers: [] } };
  const [conf, other] = [{ name: 'conf' }, { name: 'other' }];
  const { signal } = new AbortController();

  /** `setUp` says what one try does; `tries` are the seconds at which they began. */
  function world(setUp: (volume: string) => Promise<void>) {
    const clock = new SimClock();
    const tries: number[] = [];
    const told: string[] = [];
    const mounter = new PodMounter({
      clock,
      operations: new Operations(),
      setUp: (_pod, volume) => {
        tries.push(clock.monotonic() / 1000);
        return setUp(volume.name);
      },
      failed: (_pod, volume, cause) => void told.push(`${volume.name}: ${textOf(cause)}`),
    });
    return { clock, tries, told, mounter };
  }
  const missing = () => Promise.reject(new VolumeError('not-found', 'not there'));

  it('goes on with its waits in the next sync, up to two minutes and two seconds', async () => {
    const { clock, tries, mounter } = world(missing);
    for (let sync = 0; sync < 5; sync++) {
      // One that begins within a wait knows why.
      const failures = mounter.mount(pod, [conf], signal);
      await clock.advance(123_000);
      assert.deepEqual(
        (await failures).map((f) => textOf(f.cause)),
        ['not there'],
      );
    }
    assert.deepEqual(tries, [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 127.5, 249.5, 371.5, 493.5]);
  });

  it('tries at once when what it waits for is there', async () => {
    let isThere = false;
    const { clock, tries, mounter } = world(() => (isThere ? Promise.resolve() : missing()));
    const mounted = mounter.mount(pod, [conf], signal);
    await clock.advance(40_000);
    isThere = true;
    mounter.poke('u');
    await clock.settle();
    assert.deepEqual(await mounted, []);
    assert.equal(tries.at(-1), 40);
  });

  it('waits for a mount that hangs no longer than for any other, and does not begin it twice', async () => {
    let end = () => {};
    const hung = new Promise<void>((resolve) => {
      end = resolve;
    });
    const { clock, tries, told, mounter } = world((volume) => (volume === 'conf' ? hung : Promise.resolve()));
    const first = mounter.mount(pod, [conf, other], signal);
    await clock.advance(123_000);
    assert.match(textOf((await first)[0]?.cause), /has not ended for 123 s: its file system or server may not answer/);
    assert.deepEqual([told.length, tries], [1, [0, 0]]);
    const second = mounter.mount(pod, [conf], signal);
    await clock.advance(1_000);
    end();
    await clock.settle();
    assert.deepEqual([await second, tries], [[], [0, 0]]);
  });

  it('ends the wait for the others when one cannot work', async () => {
    const { clock, mounter } = world((volume) =>
      volume === 'conf' ? missing() : Promise.reject(new VolumeError('unsupported', 'no such kind')),
    );
    const failures = mounter.mount(pod, [conf, other], signal);
    await clock.settle();
    assert.deepEqual(
      (await failures).map(({ volume, isFinal }) => [volume, isFinal]),
      [
        ['conf', false],
        ['other', true],
      ],
    );
    assert.equal(clock.pending, 0);
  });

  it('ends when the pod is to stop', async () => {
    const stop = new AbortController();
    const { clock, mounter } = world(missing);
    const mounted = assert.rejects(mounter.mount(pod, [conf], stop.signal), /to stop/);
    await clock.advance(100);
    stop.abort(new Error('the pod is to stop'));
    await mounted;
  });
});
