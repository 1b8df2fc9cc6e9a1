import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { freePorts } from '../../scripts/node/freePort.ts';
import { systemClock } from '../../src/host/clock.ts';
import { ImageGc } from '../../src/images/image-gc.ts';
import { silentLogger } from '../../src/observe/log.ts';
import type { Agent } from '../support/agent.ts';
import { BUSYBOX_IMAGE, connectTo } from '../support/containerd.ts';
import { begin } from '../support/kubeletClient.ts';
import { type AgentWorld, putManifest, removeManifest, shownPods, startAgentWorld, testPod, until, untilReady } from './agent-world.ts';

describe('upkeep on a real containerd', () => {
  let world: AgentWorld;
  let agent: Agent;
  let port = 0;
  before(async () => {
    const [free = 0] = await freePorts(1);
    port = free;
    world = await startAgentWorld({
      config: {
        port,
        authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
        containerLogMaxSize: '100Ki',
        containerLogMaxFiles: 3,
        containerLogMonitorInterval: '3s',
      },
    });
    ({ agent } = world);
  });
  after(() => world?.stop());

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
  });

  it('a followed log goes on over rotations without a line that is missing or comes twice', async () => {
    const name = [...(await shownPods(agent)).values()].find((p) => p.metadata.name.startsWith('writer-'))?.metadata.name;
    const pod = (await readdir(agent.podLogsDir)).find((n) => n.includes('writer')) ?? '';
    const rotated = async () => (await readdir(join(agent.podLogsDir, pod, 'c'))).filter((n) => n !== '0.log');
    const before = new Set((await rotated()).map((n) => n.replace('.gz', '')));
    const response = await begin({ port }, `/containerLogs/default/${name}/c?follow=true`);
    assert.equal(response.statusCode, 200);
    let text = '';
    const seen = new Set<string>();
    const reading = (async () => {
      for await (const chunk of response as AsyncIterable<Buffer>) text += chunk.toString();
    })().catch(() => {});
    await until(agent, 'rotated twice while it was followed', async () => {
      for (const n of await rotated()) if (!before.has(n.replace('.gz', ''))) seen.add(n.replace('.gz', ''));
      return seen.size >= 2;
    });
    const last = /line ([0-9]+) [^\n]*\n[^\n]*$/.exec(text)?.[1] ?? assert.fail('no line yet');
    await until(agent, 'lines behind the rotation', async () => text.includes(`line ${Number(last) + 500} `));
    response.destroy();
    await reading;
    const numbers = [...text.slice(0, text.lastIndexOf('\n')).matchAll(/^line ([0-9]+) of a log/gm)].map((m) => Number(m[1]));
    assert.ok(numbers.length > 1000, `${numbers.length} lines`);
    assert.equal(
      numbers.findIndex((n, i) => i > 0 && n !== (numbers[i - 1] ?? 0) + 1),
      -1,
      'every line follows the one before',
    );
    await removeManifest(agent, 'writer.yaml');
  });

  it('an image goes when nobody uses it, and not before', async () => {
    const connected = await connectTo(world.containerd, 30_000);
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
