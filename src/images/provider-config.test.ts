import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProviderConfigError, readProviderConfigs } from './provider-config.ts';

const file = (text: string, path = '/c.yaml') => ({ path, data: Buffer.from(text) });
const head = (version: string) => `apiVersion: kubelet.config.k8s.io/${version}\nkind: CredentialProviderConfig\n`;
const provider = (more: object = {}) => ({
  name: 'p',
  matchImages: ['*.reg.io'],
  defaultCacheDuration: '1m',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
  ...more,
});
const config = (...providers: object[]) => `${head('v1')}providers: ${JSON.stringify(providers)}\n`;
const tokens = (more: object = {}) => ({
  tokenAttributes: { serviceAccountTokenAudience: 'a', cacheType: 'Token', requireServiceAccount: true, ...more },
});

function faults(text: string, tokensEnabled = true): string[] {
  try {
    readProviderConfigs([file(text)], tokensEnabled);
  } catch (err) {
    assert.ok(err instanceof ProviderConfigError);
    return err.message.split('\n').map((line) => line.replace(/^\/c\.yaml: /, ''));
  }
  return [];
}

test('all fields are read, in YAML and JSON and all versions', () => {
  const yaml = `${head('v1')}providers:
- name: ecr
  matchImages: ["*.dkr.*.example.com", reg.io:8080/path]
  defaultCacheDuration: 12h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [get, "-v"]
  env: [{name: PROFILE, value: x}]
  tokenAttributes:
    serviceAccountTokenAudience: aud
    cacheType: ServiceAccount
    requireServiceAccount: true
    requiredServiceAccountAnnotationKeys: [example.com/Role]
    optionalServiceAccountAnnotationKeys: [b]
`;
  assert.deepEqual(readProviderConfigs([file(yaml)], true), [
    {
      name: 'ecr',
      matchImages: ['*.dkr.*.example.com', 'reg.io:8080/path'],
      defaultCacheMs: 12 * 3_600_000,
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      args: ['get', '-v'],
      env: [{ name: 'PROFILE', value: 'x' }],
      tokenAttributes: {
        audience: 'aud',
        cacheType: 'ServiceAccount',
        requireServiceAccount: true,
        requiredAnnotations: ['example.com/Role'],
        optionalAnnotations: ['b'],
      },
    },
  ]);
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
    const json = JSON.stringify({
      apiVersion: `kubelet.config.k8s.io/${version}`,
      kind: 'CredentialProviderConfig',
      providers: [provider({ apiVersion: `credentialprovider.kubelet.k8s.io/${version}` })],
    });
    assert.equal(readProviderConfigs([file(json)], false)[0]?.apiVersion, `credentialprovider.kubelet.k8s.io/${version}`);
  }
});

test('files are one list; a name in two of them is refused', () => {
  const one = file(config(provider({ name: 'a' }), provider({ name: 'b' })), '/1.yaml');
  assert.deepEqual(
    readProviderConfigs([one, file(config(provider({ name: 'c' })), '/2.yaml')], true).map((p) => p.name),
    ['a', 'b', 'c'],
  );
  assert.throws(() => readProviderConfigs([one, file(config(provider({ name: 'b' })), '/2.yaml')], true), {
    message: '/2.yaml: providers[0].name: "b" is taken by providers[1] of /1.yaml',
  });
});

test('what is wrong is named by its field', () => {
  const at = (more: object, tokensEnabled = true) => faults(config(provider(more)), tokensEnabled).map((line) => line.split(': ', 1)[0]);
  for (const name of ['', '.', '..', 'a/b', 'a b', undefined]) assert.deepEqual(at({ name }), ['providers[0].name'], String(name));
  assert.deepEqual(at({ apiVersion: undefined }), ['providers[0].apiVersion']);
  assert.deepEqual(at({ apiVersion: 'credentialprovider.kubelet.k8s.io/v2' }), ['providers[0].apiVersion']);
  assert.deepEqual(at({ matchImages: [] }), ['providers[0].matchImages']);
  assert.deepEqual(at({ matchImages: ['ok', 'a:b:c%zz'] }), ['providers[0].matchImages[1]']);
  for (const bad of [undefined, '-1s', 'soon', 5])
    assert.deepEqual(at({ defaultCacheDuration: bad }), ['providers[0].defaultCacheDuration']);
  assert.deepEqual(at({ args: ['a', 1] }), ['providers[0].args[1]']);
  assert.deepEqual(at({ env: [{ name: 'A', valueFrom: {} }] }), ['providers[0].env[0].valueFrom']);
  assert.deepEqual(at({ commands: [] }), ['providers[0].commands']);
  assert.deepEqual(at({ __proto__: null, constructor: 'x' }), ['providers[0].constructor']);
});

test('token attributes are checked, and exist in version v1 only', () => {
  const at = (more: object, tokensEnabled = true) => faults(config(provider(more)), tokensEnabled).map((line) => line.split(': ', 1)[0]);
  const path = (name: string) => [`providers[0].tokenAttributes.${name}`];
  assert.deepEqual(at(tokens()), []);
  assert.deepEqual(at(tokens(), false), ['providers[0].tokenAttributes']);
  assert.deepEqual(at({ ...tokens(), apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1' }), ['providers[0].tokenAttributes']);
  assert.deepEqual(at(tokens({ serviceAccountTokenAudience: '' })), path('serviceAccountTokenAudience'));
  assert.deepEqual(at(tokens({ cacheType: 'Pod' })), path('cacheType'));
  assert.deepEqual(at(tokens({ requireServiceAccount: undefined })), path('requireServiceAccount'));
  const keys = 'requiredServiceAccountAnnotationKeys';
  assert.deepEqual(at(tokens({ [keys]: ['a', 'a'] })), path(`${keys}[1]`));
  assert.deepEqual(at(tokens({ [keys]: ['a b'] })), path(`${keys}[0]`));
  assert.deepEqual(at(tokens({ requireServiceAccount: false, [keys]: ['a'] })), path(keys));
  assert.deepEqual(
    at(tokens({ [keys]: ['a'], optionalServiceAccountAnnotationKeys: ['a'] })),
    path('optionalServiceAccountAnnotationKeys'),
  );
  const old = `${head('v1beta1')}providers: ${JSON.stringify([provider(tokens())])}`;
  assert.deepEqual(faults(old), ['providers[0].tokenAttributes: is no field that this file may have']);
});

test('a file of another kind, with a key twice, or that is no YAML is refused', () => {
  assert.match(
    faults('kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n')[0] ?? '',
    /must be a CredentialProviderConfig/,
  );
  assert.match(faults(`${head('v2')}providers: []`)[0] ?? '', /kubelet\.config\.k8s\.io\/v2/);
  assert.deepEqual(faults(`${head('v1')}providers: []`), ['providers: must not be empty']);
  assert.match(faults(`${config(provider())}kind: CredentialProviderConfig\n`)[0] ?? '', /^kind: stands twice/);
  assert.notDeepEqual(faults('a: [b'), []);
  assert.notDeepEqual(faults('- a'), []);
  assert.notDeepEqual(faults(''), []);
});
