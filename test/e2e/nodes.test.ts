import assert from 'node:assert/strict';
import test from 'node:test';
import { traces } from '../support/traces.ts';
import type { ApiObject } from './cluster/apiClient.ts';
import { startCluster } from './cluster/cluster.ts';
import { isReady } from './cluster/node.ts';

const PODS = '/api/v1/namespaces/default/pods';

/** A web server that tells on which node it runs, and ends when it is told to. */
const daemonSet = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            name: 'c',
            image: 'registry.local/busybox:1',
            command: ['sh', '-c', 'echo "served by $NODE"; mkdir /www; echo $NODE > /www/index.html; exec httpd -f -p 8080 -h /www'],
            env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
          },
        ],
      },
    },
  },
};

test('two nodes in networks of their own: pods reach each other, kubectl reaches into both', async (t) => {
  const ran: { index: number; dir: string }[] = [];
  {
    await using cluster = await startCluster({ listen: 'bridge' });
    ran.push({ index: Number(/([0-9]+)\/cluster$/.exec(cluster.dir)?.[1]), dir: cluster.dir });
    for (const name of ['east', 'west']) {
      const node = await cluster.addNode({ name, ownNetwork: true });
      ran.push(node.containerd);
      assert.ok((await node.waitReady()) < 10, 'Ready within 10 s of the start');
    }
    await cluster.api.post('/apis/apps/v1/namespaces/default/daemonsets', daemonSet);
    const pods = await cluster.until('a Ready pod on each node', async () => {
      const found = (await cluster.api.list(PODS)).filter(isReady);
      return found.length === 2 && found;
    });
    const on = (node: string): ApiObject => pods.find((p) => p.spec.nodeName === node) ?? assert.fail(`no pod on ${node}`);
    const exec = (pod: ApiObject, ...command: string[]) => cluster.kubectl(['exec', pod.metadata.name, '--', ...command]);

    await t.test('pod to pod over the nodes', async () => {
      for (const [from, to] of [
        ['east', 'west'],
        ['west', 'east'],
      ] as const) {
        // Not wget: the static busybox's one needs the libraries that look names up.
        const get = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${on(to).status.podIP} 8080`;
        assert.match(await exec(on(from), 'sh', '-c', get), new RegExp(`\r\n\r\n${to}\n$`));
      }
    });

    await t.test('kubectl logs', async () => {
      for (const node of ['east', 'west']) assert.equal(await cluster.kubectl(['logs', on(node).metadata.name]), `served by ${node}\n`);
    });

    await t.test('what is deleted goes from the API server and from the runtime', async () => {
      await cluster.api.delete('/apis/apps/v1/namespaces/default/daemonsets/web', { propagation: 'Background' });
      await cluster.until('no pod', async () => (await cluster.api.list(PODS)).length === 0, 30_000);
      for (const node of cluster.nodes) assert.equal((await node.containerd.ctr(['tasks', 'ls', '-q'])).trim(), '');
    });
  }
  for (const r of ran) assert.deepEqual(await traces(r), []);
});
