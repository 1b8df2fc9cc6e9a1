import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, EnvVar, Pod } from '../api/types.ts';
import type { EnvironmentInput, EnvObjects } from './environment.ts';
import { containerEnvironment } from './environment.ts';

const maps: Record<string, Record<string, string>> = { cfg: { A: 'a', B: 'b' }, empty: {} };
const objects: EnvObjects = {
  configMap: (_, name) => {
    const data = maps[name];
    return Promise.resolve(data === undefined ? undefined : { data: new Map(Object.entries(data)) });
  },
  secret: (_, name) =>
    name === 'down' ? Promise.reject(new Error('connection refused')) : Promise.resolve({ data: new Map([['pw', 's3cret']]) }),
};

function env(container: Partial<Container>, more: Partial<EnvironmentInput> = {}, pod: Partial<Pod['spec']> = {}) {
  const full: Container = { name: 'c', image: 'i', ...container };
  const metadata = { name: 'p', namespace: 'ns', uid: 'u', labels: { app: 'web' } };
  return containerEnvironment({
    pod: { metadata, spec: { containers: [full], serviceAccountName: 'sa', ...pod } },
    container: full,
    podIps: ['10.0.0.9', 'fd00::9'],
    hostIps: ['192.0.2.1'],
    nodeName: 'n1',
    allocatable: { cpu: '4', memory: '1Gi' },
    ...more,
  });
}
const field = (fieldPath: string): EnvVar => ({ name: 'F', valueFrom: { fieldRef: { fieldPath } } });
const values = async (...args: Parameters<typeof env>) => Object.fromEntries((await env(...args)).map(({ name, value }) => [name, value]));
const refusal = { code: 'CreateContainerConfigError', container: 'c' };

describe('containerEnvironment', () => {
  it('expands what came before, then services, and keeps what is unknown', async () => {
    const list = [
      { name: 'ONE', value: '1' },
      { name: 'TWO', value: '$(ONE)-$(SVC)-$(LATER)-$$(ONE)' },
      { name: 'LATER', value: 'x' },
      { name: 'NONE' },
    ];
    const got = await env(
      { env: list },
      {
        serviceEnv: new Map([
          ['SVC', 's'],
          ['ONE', 'service'],
        ]),
      },
    );
    assert.deepEqual(got, [
      { name: 'ONE', value: '1' },
      { name: 'TWO', value: '1-s-$(LATER)-$(ONE)' },
      { name: 'LATER', value: 'x' },
      { name: 'NONE', value: '' },
      { name: 'SVC', value: 's' },
    ]);
  });

  it('lets env override envFrom, with prefixes, and reads each object once', async () => {
    let reads = 0;
    const counting: EnvObjects = {
      ...objects,
      configMap: (namespace, name) => {
        reads++;
        return objects.configMap(namespace, name);
      },
    };
    const got = await values(
      {
        envFrom: [{ configMapRef: { name: 'cfg' } }, { prefix: 'P_', configMapRef: { name: 'cfg' } }, { secretRef: { name: 's' } }],
        env: [
          { name: 'B', value: '$(A)!' },
          { name: 'C', valueFrom: { configMapKeyRef: { name: 'cfg', key: 'A' } } },
        ],
      },
      { objects: counting },
    );
    assert.deepEqual(got, { A: 'a', B: 'a!', P_A: 'a', P_B: 'b', pw: 's3cret', C: 'a' });
    assert.equal(reads, 1);
  });

  it('leaves out what is optional and missing', async () => {
    const container: Partial<Container> = {
      envFrom: [{ configMapRef: { name: 'none', optional: true } }],
      env: [
        { name: 'X', valueFrom: { configMapKeyRef: { name: 'none', key: 'k', optional: true } } },
        { name: 'Y', valueFrom: { configMapKeyRef: { name: 'cfg', key: 'k', optional: true } } },
      ],
    };
    assert.deepEqual(await values(container, { objects }), {});
  });

  for (const [what, container, message] of [
    ['a missing object', { envFrom: [{ configMapRef: { name: 'none' } }] }, /configmap "none" not found/],
    [
      'a missing key',
      { env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] },
      /couldn't find key k in Secret ns\/s/,
    ],
    ['an unreachable API server', { envFrom: [{ secretRef: { name: 'down' } }] }, /couldn't get Secret ns\/down: connection refused/],
  ] as [string, Partial<Container>, RegExp][]) {
    it(`refuses ${what}`, () => assert.rejects(env(container, { objects }), { ...refusal, message }));
  }

  it('says that a standalone node has no objects, even for an optional one', async () => {
    const message = /couldn't get ConfigMap ns\/cfg: this node runs without an API server/;
    await assert.rejects(env({ envFrom: [{ configMapRef: { name: 'cfg', optional: true } }] }), { ...refusal, message });
  });

  it('gives the pod fields', async () => {
    const want: Record<string, string> = {
      'metadata.name': 'p',
      'metadata.namespace': 'ns',
      'metadata.uid': 'u',
      "metadata.labels['app']": 'web',
      'spec.nodeName': 'n1',
      'spec.serviceAccountName': 'sa',
      'status.hostIP': '192.0.2.1',
      'status.podIP': '10.0.0.9',
      'status.podIPs': '10.0.0.9,fd00::9',
    };
    for (const [path, value] of Object.entries(want)) assert.deepEqual(await values({ env: [field(path)] }), { F: value }, path);
    assert.deepEqual(await values({ env: [field('status.podIP')] }, { podIps: [] }, { hostNetwork: true }), { F: '192.0.2.1' });
    await assert.rejects(env({ env: [field('status.podIP')] }, { podIps: [] }), { ...refusal, message: /no IP yet/ });
    await assert.rejects(env({ env: [field('metadata.labels')] }), { ...refusal, message: /needs a key/ });
    await assert.rejects(env({ env: [field('status.phase')] }), { ...refusal, message: /variable F: unsupported/ });
  });

  it('gives resources, the pod limit or allocatable for unset ones', async () => {
    const ref = (resource: string, containerName?: string): EnvVar => ({
      name: 'R',
      valueFrom: { resourceFieldRef: { resource, ...(containerName ? { containerName } : {}) } },
    });
    assert.deepEqual(await values({ env: [ref('limits.cpu')] }), { R: '4' });
    assert.deepEqual(await values({ env: [ref('limits.memory')] }, {}, { resources: { limits: { memory: '1Mi' } } }), { R: '1048576' });
    assert.deepEqual(await values({ env: [ref('requests.cpu')], resources: { requests: { cpu: '250m' } } }), { R: '1' });
    await assert.rejects(env({ env: [ref('limits.cpu', 'nope')] }), { ...refusal, message: /container nope not found/ });
  });

  for (const name of ['', 'A\nB', 'A\rB', 'A\0B', 'A=B']) {
    it(`refuses the name ${JSON.stringify(name)}`, () => assert.rejects(env({ env: [{ name, value: 'x' }] }), refusal));
  }

  it('refuses a NUL in a value without showing the value, and a bad name out of an object', async () => {
    await assert.rejects(env({ env: [{ name: 'A', value: 'hush\0' }] }), (err: Error) => !err.message.includes('hush'));
    const bad: EnvObjects = { ...objects, configMap: () => Promise.resolve({ data: new Map([['HOME=/\nx', 'v']]) }) };
    await assert.rejects(env({ envFrom: [{ configMapRef: { name: 'cfg' } }] }, { objects: bad }), refusal);
  });

  it('refuses bytes that are no text, of the variable that would hold them only', async () => {
    const binary: EnvObjects = {
      ...objects,
      secret: () =>
        Promise.resolve({
          data: new Map([
            ['bin', 'hush\udcff'],
            ['text', 'größe'],
          ]),
        }),
    };
    const ref = (key: string) => ({ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key } } }] });
    assert.deepEqual(await env(ref('text'), { objects: binary }), [{ name: 'A', value: 'größe' }]);
    await assert.rejects(
      env(ref('bin'), { objects: binary }),
      /^ConfigGenerationError: environment variable A has a value that is no UTF-8$/,
    );
  });

  it('takes __proto__ for a name like any other', async () => {
    assert.deepEqual(
      await env({
        env: [
          { name: '__proto__', value: 'x' },
          { name: 'Y', value: '$(__proto__)$(toString)' },
        ],
      }),
      [
        { name: '__proto__', value: 'x' },
        { name: 'Y', value: 'x$(toString)' },
      ],
    );
  });

  it('reads env files through the node', async () => {
    const file = (optional?: boolean): EnvVar => ({
      name: 'E',
      valueFrom: { fileKeyRef: { volumeName: 'v', path: 'f', key: 'k', ...(optional ? { optional } : {}) } },
    });
    assert.deepEqual(await values({ env: [file()] }, { fileKey: () => Promise.resolve('val') }), { E: 'val' });
    assert.deepEqual(await values({ env: [file(true)] }, { fileKey: () => Promise.resolve(undefined) }), {});
    await assert.rejects(env({ env: [file()] }, { fileKey: () => Promise.resolve(undefined) }), refusal);
    await assert.rejects(env({ env: [file()] }), refusal);
  });
});
