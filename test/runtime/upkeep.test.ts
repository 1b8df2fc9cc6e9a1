import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { connectRuntime } from '../../src/cri/connect.ts';
import { noRuntimeMetrics } from '../../src/cri/instrumentation.ts';
import { systemClock } from '../../src/host/clock.ts';
import { ImageGc } from '../../src/images/image-gc.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { type Agent, startAgent } from '../support/agent.ts';
import { BUSYBOX_IMAGE, type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import { putManifest, removeManifest, testPod, until, untilReady } from './agent-world.ts';

describe('upkeep on a real containerd', () => {
  let containerd: PrivateContainerd;
  let agent: Agent;
  before(async () => {
    containerd = await startContainerd();
    agent = await startAgent({
      containerd,
      config: { containerLogMaxSize: '100Ki', containerLogMaxFiles: 3, containerLogMonitorInterval: '3s' },
    });
    await agent.waitHealthy();
  });
  after(async () => {
    await agent.kill('SIGTERM');
    await containerd.stop();
  });

  it('logs are rotated while the container writes: count kept, older ones compressed, no line lost', async () => {
    const script =
      'i=0; while true; do i=$((i+1)); echo "line $i of a log that grows, and grows, and grows"; [ $((i % 200)) = 0 ] && sleep 0.2; done';
    await putManifest(agent, 'writer.yaml', testPod('writer', ['sh', '-c', script]));
    await untilReady(agent, 'writer');
    const folder = async () => {
      const pod = (await readdir(agent.podLogsDir)).find((n) => n.includes('writer'));
      return join(agent.podLogsDir, pod ?? '', 'c');
    };
    const names = await until(agent, 'rotated twice', async () => {
      const all = await readdir(await folder());
      return all.some((n) => n.endsWith('.gz')) && all.length === 3 ? all.sort() : undefined;
    });
    assert.match(names.join(' '), /^0\.log 0\.log\.[0-9]{8}-[0-9]{6}\.gz 0\.log\.[0-9]{8}-[0-9]{6}$/);
    const text = async (name: string) => {
      const bytes = await readFile(join(await folder(), name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    };
    const numbers = [...(await text(names[1] ?? '')), ...(await text(names[2] ?? ''))].join('').matchAll(/ line ([0-9]+) /g);
    const lines = [...numbers].map((m) => Number(m[1]));
    assert.ok(lines.length > 1000, `${lines.length} lines`);
    assert.equal(
      lines.findIndex((n, i) => i > 0 && n !== (lines[i - 1] ?? 0) + 1),
      -1,
      'every line follows the one before',
    );
    await removeManifest(agent, 'writer.yaml');
  });

  it('an image goes when nobody uses it, and not before', async () => {
    const connected = await connectRuntime({
      endpoint: containerd.endpoint,
      timeoutMs: 30_000,
      clock: systemClock,
      log: silentLogger,
      metrics: noRuntimeMetrics,
    });
    try {
      const { images, runtime } = connected;
      const removed: string[] = [];
      const gc = new ImageGc({
        images,
        runtime,
        policy: { highPercent: 100, lowPercent: 80, minAgeMs: 0, maxAgeMs: 0 },
        disk: async () => ({ capacity: 1, available: 1 }),
        collected: () => undefined,
        removed: (id) => removed.push(id),
        clock: systemClock,
        log: silentLogger,
        events: { event: () => undefined },
        node: { kind: 'Node', namespace: '', name: 'n', uid: 'n' },
      });
      await putManifest(agent, 'user.yaml', testPod('user', ['sleep', '100000']));
      await untilReady(agent, 'user');
      const signal = new AbortController().signal;
      await gc.removeUnused(signal);
      assert.notEqual(await images.imageStatus({ image: BUSYBOX_IMAGE }), undefined);
      await removeManifest(agent, 'user.yaml');
      await until(agent, 'gone', async () => (await runtime.listContainers()).length === 0);
      await gc.removeUnused(signal);
      assert.equal(await images.imageStatus({ image: BUSYBOX_IMAGE }), undefined);
      assert.ok(removed.length >= 1);
    } finally {
      connected.close();
    }
  });
});
