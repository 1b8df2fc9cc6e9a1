import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../scripts/node/freePort.ts';
import { clientFrame, opcodes, WebSocketReader } from '../../src/server/streaming/websocket-frames.ts';
import { newAuthority } from '../e2e/cluster/pki.ts';
import { type Agent, removePods, startAgent } from '../support/agent.ts';
import { BUSYBOX_IMAGE, type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import {
  ask,
  begin,
  execSpdy,
  execWebSocket,
  exitCode,
  forwardOnce,
  type KubeletClient,
  openSpdy,
  openTunnel,
  openWebSocket,
  Refused,
} from '../support/kubeletClient.ts';

/** The kubelet's TLS port of a standalone agent on a real containerd. */

let daemon: PrivateContainerd;
let agent: Agent;
let admin: KubeletClient;
let stranger: KubeletClient;

interface ListedPod {
  metadata: { name: string; namespace: string; uid: string };
  status?: {
    phase?: string;
    containerStatuses?: { restartCount: number; state?: { running?: unknown }; lastState?: { terminated?: unknown } }[];
  };
}

const pod = (name: string, command: string, more = '', podMore = '') => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: default }
spec:
  terminationGracePeriodSeconds: 1
${podMore}
  containers:
    - name: main
      image: ${BUSYBOX_IMAGE}
      imagePullPolicy: Never
      command: [sh, -c, ${JSON.stringify(command)}]
${more}
`;

async function listed(): Promise<ListedPod[]> {
  const { status, body } = await ask(admin, '/pods');
  assert.equal(status, 200);
  return (JSON.parse(body.toString()) as { items: ListedPod[] }).items;
}

/** The name that the agent gave the manifest's pod, once `condition` holds of it. */
async function podName(name: string, condition: (p: ListedPod) => boolean = isRunning, timeoutMs = 30_000): Promise<string> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const found = (await listed()).find((p) => p.metadata.name.startsWith(`${name}-`));
    if (found !== undefined && condition(found)) return found.metadata.name;
    if (performance.now() > end) assert.fail(`pod ${name} is not as wanted: ${JSON.stringify(found?.status)}`);
    await sleep(100);
  }
}

/** Without a request the many commands of a test would starve on a machine that has other work. */
const CPU = '      resources: { requests: { cpu: 1 } }';

const isRunning = (p: ListedPod) => p.status?.containerStatuses?.every((s) => s.state?.running !== undefined) ?? false;

before(async () => {
  daemon = await startContainerd();
  const folder = join(dirname(daemon.dir), 'server-test');
  await daemon.ownFolder(folder);
  await mkdir(join(folder, 'manifests'), { recursive: true });
  const [ca, other] = await Promise.all([newAuthority('test-ca'), newAuthority('other-ca')]);
  await writeFile(join(folder, 'ca.crt'), ca.certPem);
  const manifests = join(folder, 'manifests');
  // `nc` answers each connection with what it sends, as the port-forward tests need.
  const idle = 'nc -ll -p 8080 -e cat';
  await writeFile(join(manifests, 'idle.yaml'), pod('idle', idle, CPU));
  await writeFile(
    join(manifests, 'shell.yaml'),
    pod('shell', 'echo begin; read line; echo "got $line"; sleep 600', '      stdin: true\n      tty: true'),
  );
  const lines = 'i=0; while [ $i -lt 30 ]; do echo "line $i"; i=$((i+1)); sleep 0.1; done; echo last >&2; exit 3';
  await writeFile(join(manifests, 'restarts.yaml'), pod('restarts', lines));
  await writeFile(join(manifests, 'once.yaml'), pod('once', lines, '', '  restartPolicy: Never'));
  const [port = 0] = await freePorts(1);
  agent = await startAgent({
    containerd: daemon,
    manifests,
    config: {
      port,
      authentication: { anonymous: { enabled: false }, webhook: { enabled: false }, x509: { clientCAFile: join(folder, 'ca.crt') } },
    },
    flags: ['--v=4'],
  });
  const { certPem: cert, keyPem: key } = await ca.client({ commonName: 'admin', organizations: ['system:masters'] });
  admin = { port, cert, key };
  const wrong = await other.client({ commonName: 'admin', organizations: ['system:masters'] });
  stranger = { port, cert: wrong.certPem, key: wrong.keyPem };
  await agent.waitHealthy();
});

after(async () => {
  await agent?.kill('SIGTERM');
  if (daemon !== undefined) await removePods(daemon.endpoint);
  await daemon?.stop();
});

const query = (command: readonly string[], more: string) => `?${command.map((c) => `command=${encodeURIComponent(c)}`).join('&')}&${more}`;
const execPath = (name: string, command: readonly string[], more: string) => `/exec/default/${name}/main${query(command, more)}`;

test('nobody is let in without a certificate of the client CA, on any path and method', async () => {
  const paths = ['/pods', '/healthz', '/configz', '/metrics', '/exec/default/x/main?command=id&output=1', '/nothing', '/'];
  for (const client of [{ port: admin.port }, { port: admin.port, token: 'abc' }, stranger]) {
    for (const path of paths) {
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const { status, body } = await ask(client, path, { method });
        assert.deepEqual([status, body.toString()], [401, 'Unauthorized'], `${method} ${path}`);
      }
    }
  }
  const refused = await execWebSocket({ port: admin.port }, execPath('x', ['id'], 'output=1'), 'v4.channel.k8s.io').catch(
    (e: unknown) => e,
  );
  assert.ok(refused instanceof Refused);
  assert.equal(refused.answer.status, 401);
  await assert.rejects(openSpdy(stranger, '/portForward/default/x', 'portforward.k8s.io'), /refused with 401/);
});

test('the endpoints that need no pod', async () => {
  assert.equal((await ask(admin, '/healthz')).body.toString(), 'ok');
  assert.equal((await ask(admin, '/healthz/syncloop')).body.toString(), 'ok');
  const configz = JSON.parse((await ask(admin, '/configz')).body.toString()) as { kubeletconfig: Record<string, unknown> };
  assert.equal(configz.kubeletconfig['kind'], 'KubeletConfiguration');
  assert.equal(configz.kubeletconfig['port'], admin.port);
  const set = await ask(admin, '/debug/flags/v', { method: 'PUT', body: '6' });
  assert.deepEqual([set.status, set.body.toString()], [200, 'successfully set klog.logging.verbosity to 6\n']);
  assert.equal((await ask(admin, '/debug/flags/v', { method: 'PUT', body: 'x' })).status, 400);
  assert.equal((await ask(admin, '/debug/flags/v', { method: 'GET' })).status, 406);
  assert.equal((await ask(admin, '/pods', { method: 'POST' })).status, 405);
  assert.equal((await ask(admin, '/nothing')).status, 404);
  const summary = JSON.parse((await ask(admin, '/stats/summary')).body.toString()) as {
    node: { memory: { workingSetBytes: number }; fs: { capacityBytes: number } };
  };
  assert.ok(summary.node.memory.workingSetBytes > 0 && summary.node.fs.capacityBytes > 0);
  assert.match((await ask(admin, '/metrics/resource')).body.toString(), /^node_cpu_usage_seconds_total [0-9.e+]+ \d{13}$/m);
  assert.equal((await fetch(`${agent.url}/exec/default/x/y`)).status, 405);
  const metrics = (await ask(admin, '/metrics')).body.toString();
  assert.match(metrics, /kubelet_http_requests_total\{method="PUT",path="debug",server_type="readwrite",long_running="true"\} 2/);
  assert.match(metrics, /kubelet_http_requests_total\{method="GET",path="other",server_type="readwrite",long_running="false"\} \d/);
  assert.match(metrics, /kubelet_http_requests_total\{method="GET",path="exec",server_type="readonly",long_running="true"\} 1/);
});

test('exec by SPDY: output, errors, exit code', async () => {
  const name = await podName('idle');
  const run = (script: string) => execSpdy(admin, execPath(name, ['sh', '-c', script], 'output=1&error=1'));
  const good = await run('echo out; echo err >&2');
  assert.deepEqual([good.stdout.toString(), good.stderr.toString(), exitCode(good.status)], ['out\n', 'err\n', 0]);
  const bad = await run('exit 7');
  assert.equal(exitCode(bad.status), 7);
});

for (const protocol of ['v4.channel.k8s.io', 'v5.channel.k8s.io']) {
  test(`exec by WebSocket ${protocol}: output, errors, exit code`, async () => {
    const name = await podName('idle');
    const run = (script: string) => execWebSocket(admin, execPath(name, ['sh', '-c', script], 'output=1&error=1'), protocol);
    const good = await run('echo out; echo err >&2');
    assert.deepEqual([good.stdout.toString(), good.stderr.toString(), exitCode(good.status)], ['out\n', 'err\n', 0]);
    assert.equal(exitCode((await run('exit 7')).status), 7);
  });
}

for (const protocol of ['', 'channel.k8s.io', 'base64.channel.k8s.io', 'v4.base64.channel.k8s.io']) {
  test(`exec by the older WebSocket protocol ${JSON.stringify(protocol)}`, async () => {
    const name = await podName('idle');
    const path = execPath(name, ['echo', 'out'], 'output=1');
    const isText = protocol.includes('base64');
    const told = isText ? (await base64Channels(path, protocol)).get('1') : (await execWebSocket(admin, path, protocol)).stdout.toString();
    assert.equal(told, 'out\n');
  });
}

for (const protocol of ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io']) {
  test(`port-forward by WebSocket ${protocol}`, async () => {
    const name = await podName('idle');
    const { socket, head } = await openWebSocket(admin, `/portForward/default/${name}?port=8080`, protocol);
    const isText = protocol.includes('base64');
    const reader = new WebSocketReader('server');
    const data = new Map<string, Buffer[]>();
    const take = (chunk: Buffer) => {
      for (const piece of reader.read(chunk)) {
        if (piece.type !== 'message' || piece.data.length === 0) continue;
        const channel = isText ? piece.data.toString()[0] : String(piece.data[0]);
        const rest = piece.data.subarray(1);
        data.set(channel ?? '', [...(data.get(channel ?? '') ?? []), isText ? Buffer.from(rest.toString(), 'base64') : rest]);
      }
    };
    take(head);
    socket.on('data', take);
    const hello = isText ? Buffer.from(`0${Buffer.from('hello').toString('base64')}`) : Buffer.from('\0hello');
    socket.write(clientFrame(isText ? opcodes.text : opcodes.binary, hello));
    for (let i = 0; i < 200 && Buffer.concat(data.get('0') ?? []).length < 7; i++) await sleep(20);
    socket.destroy();
    const received = Buffer.concat(data.get('0') ?? []);
    assert.deepEqual([received.readUInt16LE(0), received.subarray(2).toString()], [8080, 'hello']);
    assert.equal(Buffer.concat(data.get('1') ?? []).readUInt16LE(0), 8080);
  });
}

/** The text of each channel of an exec by one of the base64 protocols. */
async function base64Channels(path: string, protocol: string): Promise<Map<string, string>> {
  const { socket, head } = await openWebSocket(admin, path, protocol);
  const reader = new WebSocketReader('server');
  const channels = new Map<string, string>();
  const take = (chunk: Buffer) => {
    for (const piece of reader.read(chunk)) {
      if (piece.type === 'close') socket.end(clientFrame(opcodes.close, Buffer.from([3, 232])));
      if (piece.type !== 'message') continue;
      const text = piece.data.toString();
      channels.set(text.slice(0, 1), (channels.get(text.slice(0, 1)) ?? '') + Buffer.from(text.slice(1), 'base64').toString());
    }
  };
  take(head);
  for await (const chunk of socket as AsyncIterable<Buffer>) take(chunk);
  return channels;
}

test('1 MiB of input comes back whole, and the end of input ends the command', async () => {
  const name = await podName('idle');
  const stdin = randomBytes(1 << 20);
  const path = execPath(name, ['cat'], 'input=1&output=1');
  for (const run of [execSpdy(admin, path, { stdin }), execWebSocket(admin, path, 'v5.channel.k8s.io', { stdin })]) {
    const { stdout, status } = await run;
    assert.equal(exitCode(status), 0);
    assert.ok(stdout.equals(stdin), `${stdout.length} bytes came back`);
  }
});

test('a terminal gets the size that was sent', async () => {
  const name = await podName('idle');
  const path = execPath(name, ['sh', '-c', 'sleep 1; stty size'], 'input=1&output=1&tty=1');
  const resize = { Width: 123, Height: 45 };
  const spdy = await execSpdy(admin, path, { resize });
  assert.equal(spdy.stdout.toString().trim(), '45 123');
  const websocket = await execWebSocket(admin, path, 'v5.channel.k8s.io', { resize });
  assert.equal(websocket.stdout.toString().trim(), '45 123');
});

test('attach takes the terminal of the container', async () => {
  const name = await podName('shell');
  const { spdy, socket } = await openSpdy(admin, `/attach/default/${name}/main?input=1&output=1&error=1`, 'v4.channel.k8s.io');
  spdy.open([['streamtype', 'error']]);
  const stdin = spdy.open([['streamtype', 'stdin']]);
  const stdout = spdy.open([['streamtype', 'stdout']]);
  spdy.open([['streamtype', 'resize']]);
  spdy.send(stdin, Buffer.from('hello\n'));
  await spdy.until(() => spdy.received(stdout).includes('got hello'));
  assert.match(spdy.received(stdout).toString(), /got hello/);
  socket.destroy();
});

test('port-forward: 1 MiB there and back, over SPDY and in a WebSocket; a closed port is told', async () => {
  const name = await podName('idle');
  const data = randomBytes(1 << 20);
  const direct = await openSpdy(admin, `/portForward/default/${name}`, 'portforward.k8s.io');
  const tunnelled = await openTunnel(admin, `/portForward/default/${name}`);
  assert.equal(tunnelled.protocol, 'SPDY/3.1+portforward.k8s.io');
  for (const { spdy, socket } of [direct, tunnelled]) {
    const result = await forwardOnce(spdy, 8080, data);
    assert.equal(result.error, '');
    assert.ok(result.data.equals(data), `${result.data.length} bytes came back`);
    assert.match((await forwardOnce(spdy, 9, Buffer.from('x'), '1')).error, /refused|failed/);
    socket.destroy();
  }
});

test('what cannot be served is said as the contract says', async () => {
  const name = await podName('idle');
  const error = async (path: string, how: 'spdy' | 'v5' = 'spdy') => {
    const failed = await (how === 'spdy' ? execSpdy(admin, path) : execWebSocket(admin, path, 'v5.channel.k8s.io')).catch(
      (e: unknown) => e,
    );
    assert.ok(failed instanceof Refused, String(failed));
    return [failed.answer.status, failed.answer.body.toString()];
  };
  assert.deepEqual(await error(execPath(name, ['id'], '')), [400, 'you must specify at least 1 of stdin, stdout, stderr']);
  assert.deepEqual(await error(execPath('none', ['id'], 'output=1')), [404, 'pod does not exist']);
  assert.deepEqual(await error(`/exec/default/${name}/nope?command=id&output=1`), [500, 'container not found ("nope")']);
  assert.equal((await error(`/exec/default/${name}/0000-uid/main?command=id&output=1`, 'v5'))[0], 404);
  const plain = await ask(admin, execPath(name, ['id'], 'output=1'));
  assert.deepEqual([plain.status, plain.body.toString()], [400, 'Upgrade request required']);
  // The runtime itself refuses a protocol that it does not speak.
  await assert.rejects(openSpdy(admin, execPath(name, ['id'], 'output=1'), 'v99.nothing'), /refused with 403/);
  const unknown = await execSpdy(admin, execPath(name, ['/no/such/program'], 'output=1'));
  assert.notEqual(exitCode(unknown.status), 0);
});

test('run gives the output of a command', async () => {
  const name = await podName('idle');
  const { status, body } = await ask(admin, `/run/default/${name}/main?cmd=${encodeURIComponent('echo a b')}`, { method: 'POST' });
  assert.deepEqual([status, body.toString()], [200, 'a b\n']);
  assert.equal((await ask(admin, `/run/default/${name}/main?cmd=id`)).status, 405);
  const running = JSON.parse((await ask(admin, '/runningpods/')).body.toString()) as { items: ListedPod[] };
  assert.ok(running.items.some((p) => p.metadata.name === name));
});

test('50 sessions at once', async () => {
  const name = await podName('idle');
  const sessions = Array.from({ length: 50 }, async (_, i) => {
    // Each ends when it is told to and not at the same moment as all: runtimes are slow to see many ends at once.
    const path = execPath(name, ['cat'], 'input=1&output=1');
    const input = { stdin: Buffer.from(`session ${i}`) };
    const { stdout, status } = await (i % 2 === 0 ? execSpdy(admin, path, input) : execWebSocket(admin, path, 'v5.channel.k8s.io', input));
    return `${stdout} ${exitCode(status)}`;
  });
  assert.deepEqual(
    await Promise.all(sessions),
    sessions.map((_, i) => `session ${i} 0`),
  );
});

test('a followed log ends when its container has ended, and holds all of it', async () => {
  const name = await podName('once', (p) => p.status?.containerStatuses?.[0]?.state !== undefined && p.status.phase !== 'Pending');
  const { status, body } = await ask(admin, `/containerLogs/default/${name}/main?follow=true`);
  assert.equal(status, 200);
  const wanted = `${Array.from({ length: 30 }, (_, i) => `line ${i}\n`).join('')}last\n`;
  assert.equal(body.toString(), wanted);
  const get = async (more: string) => (await ask(admin, `/containerLogs/default/${name}/main?${more}`)).body.toString();
  assert.equal(await get('tailLines=2'), 'line 29\nlast\n');
  assert.equal(await get('tail=1'), 'last\n');
  assert.equal(await get('limitBytes=10'), 'line 0\nlin');
  assert.match(await get('timestamps=1&tailLines=1'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}\S+ last\n$/);
  assert.equal(await get('sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z'), '{"message": "Invalid request."}');
  assert.equal(await get('sinceTime=2100-01-01T00:00:00Z'), '');
});

test('the log of the container before', async () => {
  const name = await podName('restarts', (p) => (p.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0);
  const { status, body } = await ask(admin, `/containerLogs/default/${name}/main?previous=true&tailLines=1`);
  assert.deepEqual([status, body.toString()], [200, 'last\n']);
  const idle = await podName('idle');
  const none = await ask(admin, `/containerLogs/default/${idle}/main?previous=true`);
  assert.deepEqual([none.status, none.body.toString()], [400, `previous terminated container "main" in pod "${idle}" not found`]);
  assert.equal((await ask(admin, '/containerLogs/default/none/main')).body.toString(), 'pod "none" does not exist');
  assert.equal((await ask(admin, `/containerLogs/default/${idle}/x`)).body.toString(), `container "x" not found in pod "${idle}"`);
});

test('who stops reading a followed log is noticed', async () => {
  const name = await podName('idle');
  const response = await begin(admin, `/containerLogs/default/${name}/main?follow=true`);
  assert.equal(response.statusCode, 200);
  response.destroy();
  await once(response, 'close');
  const gauge = async () =>
    /kubelet_http_inflight_requests\{method="GET",path="containerLogs"[^}]*\} (\d+)/.exec(
      (await ask(admin, '/metrics')).body.toString(),
    )?.[1];
  for (let i = 0; i < 50 && (await gauge()) !== '0'; i++) await sleep(100);
  assert.equal(await gauge(), '0');
});
