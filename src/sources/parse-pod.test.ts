import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import type { ManifestErrorCode } from './manifest-error.ts';
import { ManifestError } from './manifest-error.ts';
import { readManifest } from './parse-pod.ts';

const origin = { kind: 'file', location: '/manifests/x.json', nodeName: 'n1' } as const;

const minimal = `apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: c, image: x}
`;

function fault(text: string | Uint8Array): {
  code: ManifestErrorCode;
  line: number | undefined;
  field: string | undefined;
  message: string;
} {
  const { pods, faults } = readManifest(text, origin);
  assert.deepEqual(pods, []);
  const [first] = faults;
  assert.ok(first);
  return { code: first.code, line: first.line, field: first.field, message: new ManifestError(first).message };
}

const fixture = JSON.parse(readFileSync(new URL('../../test/fixtures/static-pod-fields.json', import.meta.url), 'utf8')) as {
  accepted: { uid: string; manifest: object }[];
  refused: { fields: string[]; manifest: object }[];
};

test('every field of a pod gives the UID that the kubelet gives', () => {
  assert.ok(fixture.accepted.length > 100);
  for (const { uid, manifest } of fixture.accepted) {
    const text = JSON.stringify(manifest);
    const { pods, faults } = readManifest(text, origin);
    assert.deepEqual(faults, [], text);
    assert.equal(pods[0]?.metadata.uid, uid, text);
  }
});

test('what the kubelet refuses is refused for the same fields', () => {
  assert.ok(fixture.refused.length > 100);
  for (const { fields, manifest } of fixture.refused) {
    const { faults } = readManifest(JSON.stringify(manifest), origin);
    assert.deepEqual(faults.map(({ field }) => field).sort(), fields, JSON.stringify(manifest));
  }
});

test('an error names file, place, field, fault and remedy', () => {
  const { message } = fault(minimal.replace('image: x', 'image: 5'));
  assert.equal(message, '/manifests/x.json:6:22: spec.containers[0].image: want text, not the number 5 (put it in quotes)');
  assert.equal(
    fault(minimal.replace('{name: c, image: x}', '{name: c}')).message,
    '/manifests/x.json:6:5: spec.containers[0].image: a container needs an image',
  );
});

test('all faults of a pod are told, each with its place', () => {
  const text = minimal.replace('{name: c, image: x}', '{name: C, image: x, ports: [{containerPort: 0}]}').replace('name: a', 'name: A_b');
  const { faults } = readManifest(text, origin);
  assert.deepEqual(
    faults.map(({ line, field }) => [line, field]),
    [
      [3, 'metadata.name'],
      [6, 'spec.containers[0].name'],
      [6, 'spec.containers[0].ports[0].containerPort'],
    ],
  );
});

test('files that hold no pod', () => {
  for (const text of ['', '# nothing\n', '---\n', 'null', '---\n---\n']) assert.equal(fault(text).code, 'wrong-kind', JSON.stringify(text));
  assert.match(fault('hello').message, /single value/);
  assert.match(fault('- a').message, /is a list/);
  assert.match(fault('apiVersion: v1\n').message, /kind: is missing/);
  assert.match(fault('kind: Pod\n').message, /apiVersion: is missing/);
  assert.deepEqual([fault('apiVersion: v1\nkind: ConfigMap\n').line, fault('apiVersion: v1\nkind: ConfigMap\n').field], [2, 'kind']);
  assert.equal(fault('apiVersion: v1\nkind: PodList\nitems: []\n').code, 'wrong-kind');
  assert.equal(fault('apiVersion: apps/v1\nkind: Pod\n').field, 'apiVersion');
  assert.equal(fault('apiVersion: v1\nkind: Pod\n').field, 'metadata.name');
});

test('half a file is refused, the whole one read', () => {
  const { length } = minimal;
  for (let end = 1; end < length - 2; end++) assert.deepEqual(readManifest(minimal.slice(0, end), origin).pods, [], `${end} bytes`);
  assert.equal(readManifest(minimal, origin).pods.length, 1);
});

test('a file of 11 MiB is refused unread', () => {
  assert.equal(fault(Buffer.alloc(11 << 20, 0x20)).code, 'too-large');
});

test('kind and apiVersion are found whatever their case', () => {
  const { pods } = readManifest(minimal.replace('kind:', 'Kind:'), origin);
  assert.equal(pods[0]?.metadata.name, 'a-n1');
});

test('unknown fields are dropped, also __proto__', () => {
  const { pods } = readManifest(`${minimal}  notAField: {a: 1}\n  __proto__: {hostNetwork: true}\n`, origin);
  assert.ok(pods[0]);
  assert.equal(pods[0].spec.hostNetwork, undefined);
  assert.equal('notAField' in pods[0].spec, false);
});

test('maps of a pod hold only what was given', () => {
  const { pods } = readManifest(minimal.replace('{name: a}', '{name: a, annotations: {constructor: x}}'), origin);
  const annotations = pods[0]?.metadata.annotations ?? {};
  assert.equal(annotations['constructor'], 'x');
  assert.equal(annotations['toString'], undefined);
  assert.match(fault(minimal.replace('{name: a}', '{name: a, labels: {__proto__: x}}')).message, /metadata\.labels: the key "__proto__"/);
});

test('a static pod may not refer to objects of the API', () => {
  const refused: [string, string][] = [
    ['  imagePullSecrets: [{name: s}]', 'spec.imagePullSecrets[0]'],
    ['  serviceAccountName: s', 'spec.serviceAccountName'],
    ['  serviceAccount: s', 'spec.serviceAccountName'],
    ['  volumes: [{name: v, secret: {secretName: s}}]', 'spec.volumes[0].secret'],
    ['  volumes: [{name: v, configMap: {name: s}}]', 'spec.volumes[0].configMap'],
    ['  volumes: [{name: v, persistentVolumeClaim: {claimName: s}}]', 'spec.volumes[0].persistentVolumeClaim'],
    ['  volumes: [{name: v, csi: {driver: d.io}}]', 'spec.volumes[0].csi'],
    ['  volumes: [{name: v, projected: {sources: [{configMap: {name: s}}]}}]', 'spec.volumes[0].projected.sources[0].configMap'],
    ['  volumes: [{name: v, rbd: {monitors: [m], image: i, secretRef: {name: s}}}]', 'spec.volumes[0].rbd.secretRef'],
    ['  resourceClaims: [{name: r, resourceClaimName: s}]', 'spec.resourceClaims'],
  ];
  for (const [line, field] of refused) {
    const found = fault(minimal + line);
    assert.deepEqual([found.code, found.field], ['forbidden', field], line);
  }
  assert.equal(
    fault(minimal.replace('image: x}', 'image: x, envFrom: [{secretRef: {name: s}}]}')).field,
    'spec.containers[0].envFrom[0].secretRef',
  );
});

test('a URL may give a list, and one bad pod spoils it', () => {
  const url = { kind: 'http', location: 'http://x/pods', nodeName: 'N1' } as const;
  const item = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'x' }] } });
  const list = (...items: object[]) => JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items });
  const { pods } = readManifest(list(item('a'), item('b')), { ...url, nodeName: 'n1' });
  assert.deepEqual(
    pods.map(({ metadata, spec }) => [metadata.name, spec.tolerations]),
    [
      ['a-n1', undefined],
      ['b-n1', undefined],
    ],
  );
  const bad = readManifest(list(item('a'), item('B')), { ...url, nodeName: 'n1' });
  assert.deepEqual([bad.pods, bad.faults[0]?.field], [[], 'items[1].metadata.name']);
  assert.deepEqual(readManifest(list(), url), { pods: [], faults: [] });
  assert.equal(readManifest('{"apiVersion":"v1","kind":"PodList","items":5}', url).faults[0]?.code, 'wrong-type');
});

test('the UID depends on node, path and content, and a given one stays', () => {
  const uid = (text: string, more: object = {}) => readManifest(text, { ...origin, ...more }).pods[0]?.metadata.uid;
  const uids = new Set([
    uid(minimal),
    uid(minimal, { nodeName: 'n2' }),
    uid(minimal, { location: '/y' }),
    uid(minimal.replace('image: x', 'image: z')),
  ]);
  assert.equal(uids.size, 4);
  assert.equal(uid(`# a comment\n${minimal}`), uid(minimal));
  assert.equal(uid(minimal.replace('{name: a}', '{name: a, uid: mine}')), 'mine');
});

test('the toleration of NoExecute replaces one that differs in its seconds only', () => {
  const tolerations =
    '  tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: k, operator: Exists, effect: NoExecute}]\n';
  assert.deepEqual(readManifest(minimal + tolerations, origin).pods[0]?.spec.tolerations, [
    { operator: 'Exists', effect: 'NoExecute' },
    { key: 'k', operator: 'Exists', effect: 'NoExecute' },
  ]);
});
