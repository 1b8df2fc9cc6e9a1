import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { SimApiServer } from '../../test/sim/apiserver.ts';
import { ApiListener } from '../../test/sim/apiserver-listener.ts';
import { SimRandom } from '../../test/sim/random.ts';
import { systemClock } from '../host/clock.ts';
import { silentLogger } from '../observe/log.ts';
import { connectApiServer } from './connect.ts';
import { isKubeError } from './errors.ts';
import { Reflector } from './reflector.ts';
import { createLease, createNode, getNode, nodeTarget, patchNodeStatus, updateLease } from './typed.ts';
import type { Node } from './types.ts';

const pem = (name: string) => readFileSync(new URL(`../../test/fixtures/tls/${name}.pem`, import.meta.url));

test('from a kubeconfig to a node that is registered, patched and followed', async () => {
  const server = new SimApiServer({ clock: systemClock, random: new SimRandom(1), latencyMs: 0, bookmarkMs: 0 });
  await using listener = await ApiListener.start(server, { cert: pem('server'), key: pem('server-key'), ca: pem('ca') });
  const kubeconfig = JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: listener.url, 'certificate-authority-data': pem('ca').toString('base64') } }],
    users: [{ name: 'u', user: { 'client-certificate': '/a.pem', 'client-key': '/a-key.pem' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  });
  const contents = new Map<string, string | Buffer>([
    ['/kubeconfig', kubeconfig],
    ['/a.pem', pem('client-a')],
    ['/a-key.pem', pem('client-a-key')],
  ]);
  const requests: string[] = [];
  const clients = await connectApiServer({
    kubeconfig: '/kubeconfig',
    userAgent: 'kubelet/test',
    qps: 50,
    burst: 100,
    eventQps: 50,
    eventBurst: 100,
    heartbeatTimeoutMs: 10_000,
    files: { read: async (path) => Buffer.from(contents.get(path) ?? '') },
    clock: systemClock,
    log: silentLogger,
    onRequest: (method, code) => void requests.push(`${method} ${code}`),
  });
  const { main, heartbeat } = clients;
  await createNode(main, { metadata: { name: 'n1' } });
  const stop = new AbortController();
  const seen: (string | undefined)[] = [];
  const nodes = new Reflector<Node>({
    api: main,
    // The wait after a watch that ended soon is of no interest here.
    clock: { ...systemClock, sleep: () => Promise.resolve() },
    random: new SimRandom(1),
    log: silentLogger,
    ...nodeTarget('n1'),
    onChange: ({ object }) => void seen.push(object.status?.conditions?.[0]?.reason),
  });
  const running = nodes.run(stop.signal);
  await nodes.whenSynced();
  const ready = (reason: string): Node['status'] => ({ conditions: [{ type: 'Ready', status: 'True', reason }] });
  await patchNodeStatus(heartbeat, 'n1', { status: ready('A') });
  // A condition of another type stays: lists of conditions are merged.
  await patchNodeStatus(heartbeat, 'n1', { status: { conditions: [{ type: 'Other', status: 'True' }] } });
  const states = nodes.states(stop.signal);
  for await (const [node] of states) if (node?.status?.conditions?.length === 2) break;
  assert.deepEqual(seen, [undefined, 'A', 'A']);
  assert.equal((await getNode(main, 'n1', { cached: true })).status?.conditions?.length, 2);

  const lease = await createLease(heartbeat, { metadata: { name: 'n1' }, spec: { holderIdentity: 'n1', leaseDurationSeconds: 40 } });
  const renewed = await updateLease(heartbeat, lease);
  assert.notEqual(renewed.metadata.resourceVersion, lease.metadata.resourceVersion);
  await assert.rejects(updateLease(heartbeat, lease), (err) => isKubeError(err, 'Conflict'));
  assert.equal(listener.connections, 1, 'all clients share one connection');
  assert.ok(requests.includes('PUT 409'));

  // A new certificate: the watch moves to a new connection by itself and misses nothing.
  contents.set('/a.pem', pem('client-b'));
  contents.set('/a-key.pem', pem('client-b-key'));
  clients.credentials.reread();
  await patchNodeStatus(heartbeat, 'n1', { status: ready('B') });
  for await (const [node] of nodes.states(stop.signal)) if (node?.status?.conditions?.some((c) => c.reason === 'B')) break;
  assert.equal(listener.clients.at(-1)?.name, 'system:node:b');
  stop.abort();
  await running;
  clients.close();
});
