import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { privateRegistry } from '../support/privateRegistry.ts';
import { shellContainer } from '../support/shellContainer.ts';
import type { ApiObject } from './cluster/apiClient.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';
import type { ClusterNode } from './cluster/node.ts';
import { podOutput } from './cluster/pods.ts';

/*
 * What pods read of the API server by name, on a real one: environment, volumes, the token of the service account,
 * services, RuntimeClasses; and what they still have of it while it is away.
 */

const Pods = '/api/v1/namespaces/default/pods';
const ConfigMaps = '/api/v1/namespaces/default/configmaps';
const Secrets = '/api/v1/namespaces/default/secrets';
const ServiceAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount';

interface PodOptions {
  container?: object;
  spec?: object;
}

const podOf = (name: string, script: string, { container = {}, spec = {} }: PodOptions = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [shellContainer('c', script, container)],
    ...spec,
  },
});

const configMap = (name: string, data: Record<string, string>) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data });

class Bed {
  readonly cluster: Cluster;
  readonly node: ClusterNode;
  constructor(cluster: Cluster, node: ClusterNode) {
    this.cluster = cluster;
    this.node = node;
  }

  get api() {
    return this.cluster.api;
  }

  create(pod: object): Promise<ApiObject> {
    return this.api.post(Pods, pod);
  }

  /** Waits until the container's output matches. */
  output(pod: string, pattern: RegExp, timeoutMs?: number): Promise<string> {
    return podOutput(this.cluster, pod, pattern, { timeoutMs });
  }

  waiting(pod: string): Promise<{ reason: string; message: string }> {
    return this.cluster.until(`${pod} to wait for a reason`, async () => {
      const { status } = await this.api.get(`${Pods}/${pod}`);
      const waiting = status?.containerStatuses?.[0]?.state?.waiting as { reason: string; message?: string } | undefined;
      return waiting?.message !== undefined && { reason: waiting.reason, message: waiting.message };
    });
  }

  /** What the kubelet has written of a pod's volume. */
  volumeFile(pod: ApiObject, plugin: string, volume: string, file: string): Promise<string> {
    return readFile(join(this.node.agent.rootDir, 'pods', pod.metadata.uid ?? '', 'volumes', plugin, volume, file), 'utf8');
  }
}

const lines = (text: string) => new Map(text.split('\n').map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]));
const claims = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

test('pods have what they refer to', { timeout: 600_000 }, async (t) => {
  await using cluster = await startCluster();
  const node = await cluster.addNode({ config: { syncFrequency: '2s' } });
  await node.waitReady();
  const bed = new Bed(cluster, node);
  const { api } = bed;
  await api.post(ConfigMaps, configMap('settings', { one: 'first', two: 'second' }));
  await api.post(Secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'keys' },
    stringData: { password: 's3cr3t größe', user: 'u' },
  });

  await t.test('an environment of config maps, secrets, services, and prefixes', async () => {
    await api.post('/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web-app' },
      spec: { ports: [{ name: 'http', port: 8080 }] },
    });
    await bed.create(
      podOf('env', 'env; echo END=; sleep 3600', {
        container: {
          envFrom: [
            { prefix: 'CM_', configMapRef: { name: 'settings' } },
            { prefix: 'S_', secretRef: { name: 'keys' } },
            { configMapRef: { name: 'no-such', optional: true } },
          ],
          env: [
            { name: 'ONE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'one' } } },
            { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } },
            { name: 'ABSENT', valueFrom: { secretKeyRef: { name: 'keys', key: 'nope', optional: true } } },
            { name: 'BOTH', value: '$(ONE) and $(WEB_APP_SERVICE_PORT_HTTP)' },
          ],
        },
      }),
    );
    const env = lines(await bed.output('env', /^END=/m));
    const wanted = { CM_one: 'first', CM_two: 'second', S_user: 'u', ONE: 'first', PASSWORD: 's3cr3t größe', BOTH: 'first and 8080' };
    for (const [name, value] of Object.entries(wanted)) assert.equal(env.get(name), value, name);
    assert.ok(!env.has('ABSENT'));
    assert.match(env.get('KUBERNETES_SERVICE_HOST') ?? '', /^\d+\.\d+\.\d+\.\d+$/);
    assert.match(env.get('WEB_APP_PORT') ?? '', /^tcp:\/\/[\d.]+:8080$/);
  });

  await t.test('the token, the certificate and the namespace of the service account, a new token after a restart', async () => {
    const show = `while :; do echo "$(cat ${ServiceAccountDir}/token) $(cat ${ServiceAccountDir}/namespace)"; head -1 ${ServiceAccountDir}/ca.crt; sleep 1; done`;
    const pod = await bed.create(podOf('token', show));
    const text = await bed.output('token', /BEGIN CERTIFICATE/);
    const [token = '', namespace] = (text.split('\n')[0] ?? '').split(' ');
    assert.equal(namespace, 'default');
    const { sub, 'kubernetes.io': bound } = claims(token);
    assert.equal(sub, 'system:serviceaccount:default:default');
    assert.equal((bound as { pod: { uid: string } }).pod.uid, pod.metadata.uid);
    const review = await api.post('/apis/authentication.k8s.io/v1/tokenreviews', {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token },
    });
    assert.equal(review.status?.authenticated, true);
    // A restarted agent knows no token: the file is written anew under a running container.
    await node.agent.kill();
    await node.agent.start();
    await cluster.until('another token in the container', async () => {
      const shown = (await api.text(`${Pods}/token/log?tailLines=4`).catch(() => '')).split('\n').find((l) => l.includes(' default'));
      return shown !== undefined && shown.split(' ')[0] !== token;
    });
    const { status } = await api.get(`${Pods}/token`);
    assert.equal(status.containerStatuses[0].restartCount, 0);
  });

  await t.test('a config map volume follows its object', async () => {
    await api.post(ConfigMaps, configMap('live', { file: 'old' }));
    await bed.create(
      podOf('follow', 'while :; do cat /conf/file; echo; sleep 0.5; done', {
        container: { volumeMounts: [{ name: 'conf', mountPath: '/conf' }] },
        spec: { volumes: [{ name: 'conf', configMap: { name: 'live' } }] },
      }),
    );
    await bed.output('follow', /^old$/m);
    await api.patch(`${ConfigMaps}/live`, { data: { file: 'new', more: 'x' } });
    await bed.output('follow', /^new$/m, 30_000);
  });

  await t.test('a required config map that is missing: the container waits, and starts when it is there', async () => {
    const env = [{ name: 'LATE', valueFrom: { configMapKeyRef: { name: 'late', key: 'k' } } }];
    await bed.create(podOf('late', 'echo LATE=$LATE; sleep 3600', { container: { env } }));
    assert.deepEqual(await bed.waiting('late'), { reason: 'CreateContainerConfigError', message: 'configmap "late" not found' });
    await api.post(ConfigMaps, configMap('late', { other: 'x' }));
    const key = await cluster.until('the missing key to be named', async () => {
      const { message } = await bed.waiting('late');
      return message.includes('find key') && message;
    });
    assert.equal(key, "couldn't find key k in ConfigMap default/late");
    await api.patch(`${ConfigMaps}/late`, { data: { k: 'here' } });
    await bed.output('late', /^LATE=here$/m, 30_000);
    const events = await api.list('/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dlate,reason%3DFailed');
    assert.ok(events.some((e) => e['message'] === 'Error: configmap "late" not found'));
  });

  await t.test('a volume of a missing secret is mounted once the secret is there', async () => {
    const created = await bed.create(
      podOf('mounts', 'cat /s/password; echo; sleep 3600', {
        container: { volumeMounts: [{ name: 's', mountPath: '/s' }] },
        spec: { volumes: [{ name: 's', secret: { secretName: 'soon', defaultMode: 0o400 } }] },
      }),
    );
    await cluster.until('an event about the volume', async () => {
      const events = await api.list('/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dmounts,reason%3DFailedMount');
      return events.some((e) => /^MountVolume\.SetUp failed for volume "s" : secret "soon" not found/.test(String(e['message'])));
    });
    await api.post(Secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'soon' }, stringData: { password: 'sesame' } });
    await bed.output('mounts', /sesame/, 60_000);
    assert.equal(await bed.volumeFile(created, 'kubernetes.io~secret', 's', 'password'), 'sesame');
  });

  await t.test('a RuntimeClass names the handler', async () => {
    const classes = '/apis/node.k8s.io/v1/runtimeclasses';
    const handler = (name: string, of: string) => ({ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name }, handler: of });
    await api.post(classes, handler('plain', 'runc'));
    await api.post(classes, handler('strange', 'no-such-handler'));
    await bed.create(podOf('plain', 'echo RUNS; sleep 3600', { spec: { runtimeClassName: 'plain' } }));
    await bed.create(podOf('strange', 'true', { spec: { runtimeClassName: 'strange' } }));
    await bed.output('plain', /RUNS/);
    await cluster.until('an event about the handler', async () => {
      const events = await api.list(
        '/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dstrange,reason%3DFailedCreatePodSandBox',
      );
      return events.some((e) => String(e['message']).includes('no-such-handler'));
    });
    await api.delete(`${Pods}/strange`, { graceSeconds: 0 });
  });

  await t.test('image pull secrets: each login in turn, and an event for a missing secret', async () => {
    await using registry = await privateRegistry({ username: 'me', password: 'pa:ss' });
    const dockerConfig = (username: string, password: string) => JSON.stringify({ auths: { [registry.host]: { username, password } } });
    const pullSecret = (name: string, text: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': text },
    });
    await api.post(Secrets, pullSecret('wrong', dockerConfig('you', 'x')));
    const pod = (name: string, secrets: string[]) => ({
      ...podOf(name, ''),
      spec: {
        terminationGracePeriodSeconds: 0,
        imagePullSecrets: secrets.map((secret) => ({ name: secret })),
        containers: [{ name: 'c', image: registry.image, imagePullPolicy: 'Always' }],
      },
    });
    await bed.create(pod('private', ['wrong', 'right']));
    const refused = await bed.waiting('private');
    assert.match(refused.reason, /^(ErrImagePull|ImagePullBackOff)$/);
    await cluster.until('an event about the missing secret', async () => {
      const events = await api.list('/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dprivate');
      const event = events.find((e) => e['reason'] === 'FailedToRetrieveImagePullSecret');
      return event?.['message'] === 'Unable to retrieve some image pull secrets (right); attempting to pull the image may not succeed.';
    });
    await api.post(Secrets, pullSecret('right', dockerConfig('me', 'pa:ss')));
    await bed.output('private', /^PULLED$/m, 60_000);
    assert.ok(registry.users.includes('you') && registry.users.includes('me'), registry.users.join());
    await bed.create(pod('stranger', []));
    assert.match((await bed.waiting('stranger')).reason, /^(ErrImagePull|ImagePullBackOff)$/);
    assert.equal(registry.users.at(-1), '');
  });

  await t.test('while the API server is away a container starts again with what is known', async () => {
    const pod = await bed.create(
      podOf('again', `echo ONE=$ONE; cat ${ServiceAccountDir}/namespace; echo; until rm /ctl/end 2>/dev/null; do sleep 0.2; done; exit 1`, {
        container: {
          env: [{ name: 'ONE', valueFrom: { configMapKeyRef: { name: 'settings', key: 'one' } } }],
          volumeMounts: [{ name: 'ctl', mountPath: '/ctl' }],
        },
        spec: { volumes: [{ name: 'ctl', emptyDir: {} }] },
      }),
    );
    await bed.output('again', /^default/m);
    await cluster.stopApiserver('SIGKILL');
    const root = join(node.agent.rootDir, 'pods', pod.metadata.uid ?? '', 'volumes', 'kubernetes.io~empty-dir', 'ctl');
    await writeFile(join(root, 'end'), '');
    const logs = join(node.agent.podLogsDir, `default_again_${pod.metadata.uid}`, 'c');
    await cluster.until('the second container to start', async () => {
      if (!(await readdir(logs)).includes('1.log')) return false;
      return /ONE=first[\s\S]*default/.test(await readFile(join(logs, '1.log'), 'utf8'));
    });
    await cluster.startApiserver();
    await cluster.until('the restart to be shown', async () => {
      const { status } = await api.get(`${Pods}/again`);
      return status?.containerStatuses?.[0]?.restartCount === 1;
    });
  });
});
