import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from '../support/agent.ts';
import { closedPort, grpcHealthServer, httpServer, type ProbeServer, tcpServer } from '../support/probe-servers.ts';
import {
  type AgentWorld,
  containerOf,
  isReady,
  putManifest,
  removeManifest,
  shownPods,
  startAgentWorld,
  testPod,
  until,
  untilReady,
} from './agent-world.ts';

const FOREVER = ['sleep', '100000'];
const fast = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 1 };

describe('probes on a real containerd', () => {
  let world: AgentWorld;
  let agent: Agent;
  const servers: ProbeServer[] = [];
  const kept = async (server: Promise<ProbeServer>) => {
    servers.push(await server);
    return (await server).port;
  };

  before(async () => {
    world = await startAgentWorld();
    ({ agent } = world);
  });
  after(async () => {
    for (const s of servers) await s.close();
    await world?.stop();
  });

  const put = (name: string, command: string[], container: object, spec: object = {}) =>
    putManifest(agent, `${name}.yaml`, testPod(name, command, { container, spec }));
  const said = (what: string, pattern: RegExp) => until(agent, what, async () => pattern.test(await agent.log()));
  const readiness = (name: string, want: boolean) =>
    until(agent, `${name} ${want ? '' : 'not '}ready`, async () => isReady((await shownPods(agent)).get(name)) === want);

  it('liveness by exec: a failure restarts the container, with the message', async () => {
    const command = ['sh', '-c', 'touch /tmp/ok; sleep 2; rm /tmp/ok; sleep 100000'];
    await put('alive', command, { livenessProbe: { ...fast, exec: { command: ['cat', '/tmp/ok'] } } });
    await until(agent, 'restarted', async () => ((await containerOf(agent, 'alive'))?.restartCount ?? 0) >= 1);
    await said('its probe', /Liveness probe failed: cat: can't open '\/tmp\/ok'/);
    await said('its end', /Container c failed liveness probe, will be restarted/);
    const metrics = await (await fetch(`${agent.url}/metrics/probes`)).text();
    assert.match(metrics, /^prober_probe_total\{[^}]*probe_type="Liveness"[^}]*\} [0-9]+$/m);
    await removeManifest(agent, 'alive.yaml');
  });

  it('readiness by HTTP goes up and down with the answer, and no container restarts', async () => {
    let code = 200;
    const port = await kept(httpServer((_req, res) => res.writeHead(code).end()));
    await put('flips', FOREVER, { readinessProbe: { ...fast, httpGet: { host: '127.0.0.1', port } } });
    await readiness('flips', true);
    code = 503;
    await readiness('flips', false);
    assert.equal((await containerOf(agent, 'flips'))?.ready, false);
    code = 200;
    await readiness('flips', true);
    assert.equal((await containerOf(agent, 'flips'))?.restartCount, 0);
    await said('the failure', /Readiness probe failed: HTTP probe failed with statuscode: 503/);
    await removeManifest(agent, 'flips.yaml');
  });

  it('startup holds back liveness until it has succeeded', async () => {
    const up = { exec: { command: ['test', '-e', '/tmp/up'] } };
    const command = ['sh', '-c', 'sleep 3; touch /tmp/up; sleep 100000'];
    await put('slow', command, { startupProbe: { ...fast, failureThreshold: 30, ...up }, livenessProbe: { ...fast, ...up } });
    await until(agent, 'running', async () => (await containerOf(agent, 'slow'))?.state?.running !== undefined);
    assert.equal((await containerOf(agent, 'slow'))?.started, false);
    await untilReady(agent, 'slow');
    const c = await containerOf(agent, 'slow');
    assert.deepEqual([c?.started, c?.restartCount], [true, 0]);
    await removeManifest(agent, 'slow.yaml');
  });

  it('a startup that fails restarts the container', async () => {
    await put('never-up', FOREVER, {
      startupProbe: { ...fast, exec: { command: ['false'] } },
      livenessProbe: { ...fast, exec: { command: ['true'] } },
    });
    await until(agent, 'restarted', async () => ((await containerOf(agent, 'never-up'))?.restartCount ?? 0) >= 1);
    await said('its end', /Container c failed startup probe, will be restarted/);
    await removeManifest(agent, 'never-up.yaml');
  });

  it('TCP and gRPC', async () => {
    const port = await kept(tcpServer(() => undefined));
    const grpc = await kept(grpcHealthServer((service) => (service === 'well' ? 1 : 2)));
    await put('tcp', FOREVER, { readinessProbe: { ...fast, tcpSocket: { host: '127.0.0.1', port } } });
    const host = { hostNetwork: true };
    await put('grpc', FOREVER, { readinessProbe: { ...fast, grpc: { port: grpc, service: 'well' } } }, host);
    await put('grpc-sick', FOREVER, { readinessProbe: { ...fast, grpc: { port: grpc, service: 'other' } } }, host);
    await put('closed', FOREVER, { readinessProbe: { ...fast, tcpSocket: { host: '127.0.0.1', port: await closedPort() } } });
    await untilReady(agent, 'tcp');
    await untilReady(agent, 'grpc');
    await said('the sick one', /Readiness probe failed: service unhealthy \(responded with .{0,2}NOT_SERVING/);
    await said('the closed one', /Readiness probe failed: dial tcp 127\.0\.0\.1:[0-9]+: connect: connection refused/);
    for (const name of ['grpc-sick', 'closed']) assert.equal(isReady((await shownPods(agent)).get(name)), false, name);
    for (const name of ['tcp', 'grpc', 'grpc-sick', 'closed']) await removeManifest(agent, `${name}.yaml`);
  });

  it('a pod of its own network is asked at its own address, by the name of its port', async () => {
    const container = {
      ports: [{ name: 'web', containerPort: 8080 }],
      readinessProbe: { ...fast, failureThreshold: 30, httpGet: { path: '/cgi', port: 'web' } },
      livenessProbe: { ...fast, failureThreshold: 30, tcpSocket: { port: 'web' } },
    };
    await put('web', ['sh', '-c', 'mkdir -p /tmp/www; echo hi > /tmp/www/cgi; httpd -f -p 8080 -h /tmp/www'], container);
    await untilReady(agent, 'web');
    assert.equal((await containerOf(agent, 'web'))?.restartCount, 0);
    await removeManifest(agent, 'web.yaml');
  });

  it('an agent that is killed and starts again keeps a container that was ready, and probes it', async () => {
    const asked: number[] = [];
    const port = await kept(
      httpServer((_req, res) => {
        asked.push(performance.now());
        res.end();
      }),
    );
    await put('stays', FOREVER, { readinessProbe: { ...fast, httpGet: { host: '127.0.0.1', port } } });
    await untilReady(agent, 'stays');
    await agent.kill('SIGKILL');
    const before = asked.length;
    await agent.start();
    await agent.waitHealthy();
    await untilReady(agent, 'stays');
    await until(agent, 'probed again', async () => asked.length > before);
    assert.equal((await containerOf(agent, 'stays'))?.restartCount, 0);
    await removeManifest(agent, 'stays.yaml');
  });

  it('probes of bad manners disturb nobody: floods of output, children that stay, answers that never end', async () => {
    const asked: number[] = [];
    const port = await kept(
      httpServer((_req, res) => {
        asked.push(performance.now());
        res.end();
      }),
    );
    const endless = await kept(
      httpServer((_req, res) => {
        res.write('x');
        setInterval(() => res.write('x'), 50).unref();
      }),
    );
    await put('good', FOREVER, { readinessProbe: { ...fast, httpGet: { host: '127.0.0.1', port } } });
    const exec = (script: string) => ({ readinessProbe: { ...fast, exec: { command: ['sh', '-c', script] } } });
    await put('flood', FOREVER, exec('head -c 104857600 /dev/zero'));
    await put('late', FOREVER, exec('exec sleep 1001'));
    // Children that keep the output open: containerd waits for them, the probe does not.
    await put('forks', FOREVER, exec('for i in 1 2 3; do sleep 1000 & done; sleep 1000'));
    await put('endless', FOREVER, { readinessProbe: { ...fast, httpGet: { host: '127.0.0.1', port: endless } } });
    await untilReady(agent, 'good');
    await said('the late one', /command timed out[^\n]*exec sleep 1001/);
    await said('the endless one', /Readiness probe errored and resulted in failure state: context deadline exceeded/);
    await said('the one with children', /command timed out[^\n]*for i in 1 2 3/);
    asked.length = 0;
    await sleep(5_000);
    const gaps = asked.slice(1).map((t, i) => t - (asked[i] ?? 0));
    assert.ok(gaps.length >= 3 && Math.max(...gaps) < 2_000, `gaps of ${gaps.map(Math.round)} ms`);
    assert.equal(await agent.healthy(), true);
    const status = await readFile(`/proc/${agent.pid()}/status`, 'utf8');
    const peak = Number(/^VmHWM:\s+([0-9]+)/m.exec(status)?.[1]) / 1024;
    assert.ok(peak < 400, `the agent used ${peak} MiB`);
    const bad = ['flood', 'late', 'forks', 'endless'];
    for (const name of bad) {
      const status = await containerOf(agent, name);
      assert.deepEqual([status?.state?.running !== undefined, status?.ready, status?.restartCount], [true, false, 0], name);
    }
    for (const name of ['good', ...bad]) await removeManifest(agent, `${name}.yaml`);
  });
});
