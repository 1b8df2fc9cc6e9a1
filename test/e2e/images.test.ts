import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { type PrivateRegistry, privateRegistry } from '../support/privateRegistry.ts';
import { ApiRequestError } from './cluster/apiClient.ts';
import { type Cluster, startCluster } from './cluster/cluster.ts';

/*
 * Who may use which image, with a private registry and a real API server: pull secrets, credential provider plug-ins,
 * and the records of pulls that keep a present image from pods that could not have pulled it.
 */

const Pods = '/api/v1/namespaces/default/pods';
const Login = { username: 'me', password: 'pa:ss' };

interface Wanted {
  policy?: 'Always' | 'IfNotPresent' | 'Never';
  secret?: string;
  account?: string;
}

class Bed {
  readonly cluster: Cluster;
  constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  async want(name: string, image: string, { policy = 'IfNotPresent', secret, account }: Wanted): Promise<void> {
    await this.cluster.api.post(Pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'c', image, imagePullPolicy: policy }],
        ...(secret === undefined ? {} : { imagePullSecrets: [{ name: secret }] }),
        ...(account === undefined ? {} : { serviceAccountName: account }),
      },
    });
  }

  /** Waits until the container has said what the image says. */
  async runs(name: string): Promise<void> {
    await this.cluster.until(`${name} to run`, async () => {
      try {
        return /^PULLED$/m.test(await this.cluster.api.text(`${Pods}/${name}/log`));
      } catch (error) {
        if (error instanceof ApiRequestError) return false;
        throw error;
      }
    });
  }

  /** The reason why the container waits for its image. */
  refused(name: string): Promise<string> {
    return this.cluster.until(`${name} to be refused`, async () => {
      const { status } = await this.cluster.api.get(`${Pods}/${name}`);
      const reason = status?.containerStatuses?.[0]?.state?.waiting?.reason as string | undefined;
      return reason !== undefined && /Image/.test(reason) && reason;
    });
  }
}

async function pullSecret({ api }: Cluster, name: string, registry: PrivateRegistry): Promise<void> {
  await api.post('/api/v1/namespaces/default/secrets', {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': JSON.stringify({ auths: { [registry.host]: Login } }) },
  });
}

/** Lets nodes ask for tokens for the audience, as those who use such plug-ins must. */
async function allowAudience({ api }: Cluster, audience: string): Promise<void> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const name = 'audience';
  await api.post(`${rbac}/clusterroles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules: [
      { apiGroups: [''], resources: [audience], verbs: ['request-serviceaccounts-token-audience'] },
      { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get'] },
    ],
  });
  await api.post(`${rbac}/clusterrolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:nodes' }],
  });
}

test('an image that one pod pulled with its secret is not given to a pod without it', { timeout: 300_000 }, async () => {
  await using cluster = await startCluster();
  await using registry = await privateRegistry(Login);
  const node = await cluster.addNode();
  await node.waitReady();
  const bed = new Bed(cluster);
  const records = join(node.agent.rootDir, 'image_manager');
  for (const dir of [records, join(records, 'pulling'), join(records, 'pulled')]) {
    assert.equal((await stat(dir)).mode & 0o777, 0o700, dir);
  }
  await pullSecret(cluster, 'mine', registry);
  await bed.want('owner', registry.image, { secret: 'mine' });
  await bed.runs('owner');
  const [file = ''] = await readdir(join(records, 'pulled'));
  const record = JSON.parse(await readFile(join(records, 'pulled', file), 'utf8')) as Record<string, unknown>;
  assert.equal(record['kind'], 'ImagePulledRecord');
  assert.match(JSON.stringify(record['credentialMapping']), /"127\.0\.0\.1:\d+\/private\/app":\{"kubernetesSecrets":\[\{.*"name":"mine"/);
  assert.deepEqual(await readdir(join(records, 'pulling')), []);

  await bed.want('stranger', registry.image, {});
  assert.match(await bed.refused('stranger'), /^(ErrImagePull|ImagePullBackOff)$/);
  assert.equal(registry.users.at(-1), '', 'he was sent to the registry, with nothing');
  await bed.want('patient', registry.image, { policy: 'Never' });
  assert.equal(await bed.refused('patient'), 'ErrImageNeverPull');

  const asked = registry.users.filter((user) => user !== '').length;
  await bed.want('second', registry.image, { secret: 'mine' });
  await bed.runs('second');
  assert.equal(registry.users.filter((user) => user !== '').length, asked, 'who has the secret needs no pull');

  // A new run of the agent knows it, too.
  await node.agent.kill();
  await node.agent.start();
  await bed.want('later', registry.image, { policy: 'Never' });
  assert.equal(await bed.refused('later'), 'ErrImageNeverPull');
});

test('a credential provider plug-in gives the credentials, for the service account that asks', { timeout: 300_000 }, async () => {
  await using cluster = await startCluster();
  await using registry = await privateRegistry(Login);
  const dir = join(cluster.dir, 'credential-provider');
  await mkdir(join(dir, 'bin'), { recursive: true });
  const requests = join(dir, 'requests');
  const program = join(dir, 'bin', 'plug-in');
  const answer = { kind: 'CredentialProviderResponse', apiVersion: 'credentialprovider.kubelet.k8s.io/v1', cacheKeyType: 'Registry' };
  await writeFile(
    program,
    `#!/bin/sh
request=$(cat)
echo "$1 $MODE $request" >>${requests}
case $request in
*'"example.com/role":"puller"'*) echo '${JSON.stringify({ ...answer, auth: { [registry.host]: Login } })}' ;;
*) echo 'no such role' >&2; exit 1 ;;
esac
`,
  );
  await chmod(program, 0o755);
  const config = join(dir, 'config.yaml');
  await writeFile(
    config,
    `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: plug-in
  matchImages: ["${registry.host}"]
  defaultCacheDuration: 10m
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [get-credentials]
  env: [{name: MODE, value: test}]
  tokenAttributes:
    serviceAccountTokenAudience: registry
    cacheType: ServiceAccount
    requireServiceAccount: true
    optionalServiceAccountAnnotationKeys: [example.com/role]
`,
  );
  await allowAudience(cluster, 'registry');
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await cluster.api.post(accounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'puller', annotations: { 'example.com/role': 'puller', other: 'x' } },
  });
  const node = await cluster.addNode({
    flags: ['--image-credential-provider-config', config, '--image-credential-provider-bin-dir', join(dir, 'bin')],
  });
  await node.waitReady();
  const bed = new Bed(cluster);

  await bed.want('nobody', registry.image, {});
  assert.match(await bed.refused('nobody'), /^(ErrImagePull|ImagePullBackOff)$/);
  await bed.want('first', registry.image, { account: 'puller' });
  await bed.runs('first');
  const asked = (await readFile(requests, 'utf8')).trim().split('\n');
  const [line = ''] = asked.filter((text) => text.includes('puller'));
  assert.match(line, /^get-credentials test \{/);
  const request = JSON.parse(line.slice(line.indexOf('{'))) as Record<string, unknown>;
  assert.equal(request['image'], `${registry.host}/private/app`);
  assert.deepEqual(request['serviceAccountAnnotations'], { 'example.com/role': 'puller' });
  const [, payload = ''] = String(request['serviceAccountToken']).split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { aud: string[]; sub: string };
  assert.deepEqual([claims.aud, claims.sub], [['registry'], 'system:serviceaccount:default:puller']);

  // The same service account: neither pulled nor asked again. Another one: nothing for it here.
  await bed.want('second', registry.image, { account: 'puller', policy: 'Never' });
  await bed.runs('second');
  const again = (await readFile(requests, 'utf8')).trim().split('\n');
  assert.equal(again.filter((text) => text.includes('puller')).length, 1);
  await bed.want('stranger', registry.image, { policy: 'Never' });
  assert.equal(await bed.refused('stranger'), 'ErrImageNeverPull');
  assert.match(await node.agent.log(), /credential provider plug-in plug-in: exit status 1: no such role/);
});
