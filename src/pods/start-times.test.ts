import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import type { Pod, PodStatus } from '../api/types.ts';
import { Timeline } from '../observe/timeline.ts';
import type { ImageEnsurer } from '../sync/context.ts';
import { PodStartTimes } from './start-times.ts';

describe('the times of starts', () => {
  let clock: SimClock;
  let timeline: Timeline;
  let times: PodStartTimes;
  let counted: string[];
  const podOf = (over: Partial<Pod> = {}): Pod => ({
    metadata: { name: 'p', namespace: 'n', uid: 'u', creationTimestamp: new Date(clock.now() - 5_000).toISOString() },
    spec: { containers: [], initContainers: [{ name: 'init' }, { name: 'side', restartPolicy: 'Always' }] },
    ...over,
  });
  const running = (): PodStatus => {
    const ended = { startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:02Z', exitCode: 0, reason: '' };
    const init = ['init', 'side'].map((name) => ({
      name,
      ready: true,
      restartCount: 0,
      image: '',
      imageID: '',
      state: { terminated: ended },
    }));
    return { phase: 'Running', initContainerStatuses: init };
  };
  beforeEach(() => {
    clock = new SimClock();
    timeline = new Timeline(() => clock.now());
    counted = [];
    const metrics = {
      workerStarted: (s: number) => void counted.push(`worker ${s}`),
      podStarted: (s: number) => void counted.push(`started ${s}`),
      podAdmitted: (n: number) => void counted.push(`containers ${n}`),
      orphanFound: () => void counted.push('orphan'),
      podRestarted: (isStatic: boolean) => void counted.push(`restarted ${isStatic}`),
      podReady: (sli: number, total: number) => void counted.push(`ready ${sli} of ${total}`),
    };
    times = new PodStartTimes({ clock, timeline, metrics });
  });

  it('count from the first sight, and from the creation without pulls and init containers; each once', async () => {
    timeline.note('u', 'seen', 'api');
    await clock.advance(1_000);
    const pod = podOf();
    times.begun({ uid: 'u', phase: 'sync', orphan: false, pod });
    times.begun({ uid: 'u', phase: 'sync', orphan: false, pod });
    const images = {
      ensureImage: async () => {
        await clock.sleep(3_000);
        return { imageRef: 'i' };
      },
    } as unknown as ImageEnsurer;
    const pull = times.timed(images).ensureImage({ pod } as never);
    times.published('u', { phase: 'Pending' });
    await clock.advance(4_000);
    assert.equal((await pull).imageRef, 'i');
    times.published('u', running());
    times.published('u', running());
    // Five seconds old when it was begun, four later: three of a pull and two of the init container are left out.
    assert.deepEqual(counted, ['containers 0', 'worker 1', 'started 5', 'ready 4 of 9']);
  });

  it('leave out what ran before, what nobody saw, and the creation of static pods', async () => {
    timeline.note('u', 'seen', 'api');
    times.begun({ uid: 'u', phase: 'sync', orphan: false, pod: podOf({ status: { phase: 'Running' } }) });
    times.published('u', running());
    times.forget('u');
    times.begun({ uid: 'other', phase: 'sync', orphan: false, pod: podOf() });
    times.published('other', running());
    times.begun({ uid: 'ends', phase: 'terminating', orphan: false, pod: podOf() });
    assert.deepEqual(counted, ['containers 0', 'worker 0', 'containers 0']);
    counted.length = 0;
    timeline.note('static', 'seen', 'file');
    const pod = podOf();
    pod.metadata.annotations = { 'kubernetes.io/config.source': 'file' };
    times.begun({ uid: 'static', phase: 'sync', orphan: false, pod });
    times.published('static', running());
    assert.deepEqual(counted, ['containers 0', 'worker 0', 'started 0']);
  });

  it('an orphan is counted once, and a second life under the same UID', () => {
    const pod = podOf();
    for (const phase of ['terminating', 'terminated']) times.begun({ uid: 'o', phase, pod, orphan: true });
    assert.deepEqual(counted, ['orphan']);
    for (const phase of ['sync', 'sync', 'terminating', 'terminated', 'sync', 'sync']) times.begun({ uid: 'u', phase, pod, orphan: false });
    assert.deepEqual(counted.slice(1), ['containers 0', 'restarted false']);
  });
});
