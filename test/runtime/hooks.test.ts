import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ConnectedRuntime } from '../../src/cri/connect.ts';
import type { Agent } from '../support/agent.ts';
import { connectTo } from '../support/containerd.ts';
import { httpServer, type ProbeServer } from '../support/probe-servers.ts';
import { type AgentWorld, containerOf, putManifest, removeManifest, startAgentWorld, testPod, until, untilReady } from './agent-world.ts';

const FOREVER = ['sleep', '100000'];

describe('lifecycle hooks on a real containerd', () => {
  let world: AgentWorld;
  let agent: Agent;
  let server: ProbeServer;
  let connected: ConnectedRuntime;
  const asked: { path: string; at: number }[] = [];

  before(async () => {
    world = await startAgentWorld();
    ({ agent } = world);
    server = await httpServer((req, res) => {
      asked.push({ path: req.url ?? '', at: performance.now() });
      if (req.url !== '/hangs') res.writeHead(404).end();
    });
    connected = await connectTo(world.containerd);
  });
  after(async () => {
    connected?.close();
    await server?.close();
    await world?.stop();
  });

  const put = (name: string, lifecycle: object, grace: number, command = FOREVER) =>
    putManifest(
      agent,
      `${name}.yaml`,
      testPod(name, command, { container: { lifecycle }, spec: { terminationGracePeriodSeconds: grace } }),
    );
  const get = (path: string) => ({ httpGet: { host: '127.0.0.1', port: server.port, path } });
  const log = (pattern: RegExp) => until(agent, String(pattern), async () => pattern.test(await agent.log()));

  it('httpGet: any answer will do; preStop is asked before the container ends', async () => {
    await put('http', { postStart: get('/begin'), preStop: get('/end') }, 2);
    await untilReady(agent, 'http');
    assert.deepEqual(
      asked.map((a) => a.path),
      ['/begin'],
    );
    await removeManifest(agent, 'http.yaml');
    await until(agent, 'asked', async () => asked.some((a) => a.path === '/end'));
  });

  it('a postStart that fails kills the container, says so, and it is tried again', async () => {
    await put('bad-start', { postStart: { exec: { command: ['false'] } } }, 1);
    const c = await until(agent, 'tried again', async () => {
      const s = await containerOf(agent, 'bad-start');
      return s !== undefined && s.restartCount >= 1 ? s : undefined;
    });
    assert.ok(c.restartCount >= 1);
    await log(/FailedPostStartHook.*PostStartHook failed|PostStartHook failed.*FailedPostStartHook/);
    await removeManifest(agent, 'bad-start.yaml');
  });

  it('a preStop that hangs beyond the grace is left behind: the container ends all the same', async () => {
    await put('hangs', { preStop: get('/hangs') }, 3);
    await put('sleeps', { preStop: { exec: { command: ['sleep', '1000'] } } }, 3);
    await untilReady(agent, 'hangs');
    await untilReady(agent, 'sleeps');
    const began = performance.now();
    await Promise.all([removeManifest(agent, 'hangs.yaml'), removeManifest(agent, 'sleeps.yaml')]);
    await until(agent, 'both ended', async () => {
      const running = await connected.runtime.listContainers({ state: 'running' });
      return !running.some((c) => /^(hangs|sleeps)-/.test(c.labels['io.kubernetes.pod.name'] ?? ''));
    });
    const took = (performance.now() - began) / 1000;
    assert.ok(took >= 2.5 && took < 12, `took ${took.toFixed(1)} s`);
  });

  it('a preStop that fails is told, and holds nothing up', async () => {
    await put('bad-stop', { preStop: { exec: { command: ['false'] } } }, 5);
    await untilReady(agent, 'bad-stop');
    const began = performance.now();
    await removeManifest(agent, 'bad-stop.yaml');
    await log(/FailedPreStopHook/);
    assert.ok(performance.now() - began < 15_000);
  });
});
