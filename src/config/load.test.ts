import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigErrors } from './errors.ts';
import { loadKubelet } from './load.ts';
import { formatOrigin } from './origin.ts';
import { header, memoryIo, standalone } from './test-io.ts';

type Files = Parameters<typeof memoryIo>[0];

const load = (files: Files, ...argv: string[]) => loadKubelet(argv, memoryIo(files));
const withConfig = (text: string, ...argv: string[]) =>
  load({ '/cfg/kubelet.yaml': header + standalone + text }, '--config=kubelet.yaml', ...argv);

async function faultsOf(promise: Promise<unknown>): Promise<string[]> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof ConfigErrors, String(error));
    return error.errors.map((e) => e.message);
  }
  return assert.fail('was not refused');
}

test('without --config the legacy defaults apply', async () => {
  const { resolved, origins, flags } = await load({});
  assert.equal(resolved.authentication.anonymous.enabled, true);
  assert.equal(resolved.authentication.webhook.enabled, false);
  assert.equal(resolved.authorization.mode, 'AlwaysAllow');
  assert.equal(resolved.readOnlyPort, 10255);
  assert.deepEqual(resolved.evictionHard, Object.create(null));
  assert.equal(resolved.syncFrequencyMs, 60_000);
  assert.equal(resolved.containerLogMaxSizeBytes, 10 * 1024 * 1024);
  assert.equal(formatOrigin(origins.of('readOnlyPort')), 'legacy default');
  assert.equal(flags.rootDir, '/var/lib/kubelet');
});

test('with --config they do not, and evictionHard gets its defaults', async () => {
  const { resolved, config } = await withConfig('');
  assert.equal(resolved.authentication.anonymous.enabled, false);
  assert.equal(resolved.readOnlyPort, 0);
  assert.equal(resolved.evictionHard['memory.available'], '100Mi');
  assert.equal(resolved.memoryThrottlingFactor, undefined);
  assert.equal(config.logging.flushFrequency, '5s');
  assert.equal((await withConfig('evictionHard: {}\n')).resolved.evictionHard['memory.available'], undefined);
  const merged = await withConfig('evictionHard: {memory.available: 1Gi}\nmergeDefaultEvictionSettings: true\n');
  assert.deepEqual(
    { ...merged.resolved.evictionHard },
    {
      'memory.available': '1Gi',
      'nodefs.available': '10%',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    },
  );
});

test('flag over drop-in over file over default', async () => {
  const files = {
    '/cfg/kubelet.yaml': `${header}${standalone}maxPods: 1\nport: 1001\npodsPerCore: 1\n`,
    '/cfg/d/10-a.conf': `${header}maxPods: 2\nport: 1002\n`,
    '/cfg/d/20-b.conf': `${header}maxPods: 3\nport: 1003\n`,
  };
  const { resolved, origins } = await load(files, '--config', 'kubelet.yaml', '--config-dir', 'd', '--max-pods=4');
  assert.deepEqual([resolved.maxPods, resolved.port, resolved.podsPerCore, resolved.healthzPort], [4, 1003, 1, 10248]);
  assert.equal(formatOrigin(origins.of('maxPods')), 'flag --max-pods');
  assert.equal(formatOrigin(origins.of('port')), 'drop-in d/20-b.conf:4:7');
  assert.equal(formatOrigin(origins.of('podsPerCore')), 'file kubelet.yaml:7:14');
  assert.equal(formatOrigin(origins.of('healthzPort')), 'default');
});

test('a flag can set zero, which a file cannot', async () => {
  assert.equal((await withConfig('maxPods: 0\n')).resolved.maxPods, 110);
  assert.equal((await withConfig('', '--max-pods=0')).resolved.maxPods, 0);
  const { resolved } = await withConfig('', '--resolv-conf=', '--pod-max-pids=-5');
  assert.equal(resolved.resolvConf, '');
  assert.equal(resolved.podPidsLimit, -5);
});

test('feature gates merge by key, the flag wins', async () => {
  const gates = 'featureGates: {KubeletCrashLoopBackOffMax: true, DefaultPodSysctls: true}\n';
  const { config, resolved } = await withConfig(gates, '--feature-gates=DefaultPodSysctls=false,QOSReserved=true');
  assert.deepEqual({ ...config.featureGates }, { KubeletCrashLoopBackOffMax: true, DefaultPodSysctls: false, QOSReserved: true });
  assert.equal(resolved.gates.enabled('QOSReserved'), true);
  assert.equal(resolved.gates.enabled('DefaultPodSysctls'), false);
  assert.equal(resolved.gates.enabled('NodeSwap'), true);
});

test('drop-ins: null deletes, maps merge, lists are replaced', async () => {
  const files = {
    '/cfg/kubelet.yaml': `${header}${standalone}maxPods: 7\nclusterDNS: [1.1.1.1, 2.2.2.2]\nsystemReserved: {cpu: 100m, memory: 1Gi}\nevictionHard: {memory.available: 1Gi}\n`,
    '/cfg/d/1.conf': `${header}maxPods: null\nclusterDNS: [3.3.3.3]\nsystemReserved: {memory: 2Gi, pid: "100", cpu: null}\n`,
    '/cfg/d/sub/2.conf':
      '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","evictionHard":{"nodefs.available":"5%"}}',
    '/cfg/d/ignored.yaml': 'not even yaml: [',
  };
  const { resolved, skippedDropIns, origins } = await load(files, '--config=kubelet.yaml', '--config-dir=d');
  assert.equal(resolved.maxPods, 110);
  assert.equal(formatOrigin(origins.of('maxPods')), 'default');
  assert.deepEqual(resolved.clusterDNS, ['3.3.3.3']);
  assert.deepEqual({ ...resolved.systemReserved }, { memory: '2Gi', pid: '100' });
  assert.deepEqual({ ...resolved.evictionHard }, { 'memory.available': '1Gi', 'nodefs.available': '5%' });
  assert.deepEqual(skippedDropIns, ['d/ignored.yaml']);
});

test('a drop-in turns an empty list of the file into the default again, as for the real kubelet', async () => {
  const files = { '/cfg/kubelet.yaml': `${header}${standalone}enforceNodeAllocatable: []\n`, '/cfg/d/1.conf': `${header}maxPods: 5\n` };
  assert.deepEqual((await load(files, '--config=kubelet.yaml')).resolved.enforceNodeAllocatable, []);
  assert.deepEqual((await load(files, '--config=kubelet.yaml', '--config-dir=d')).resolved.enforceNodeAllocatable, ['pods']);
});

test('a drop-in may write names in another case where the real kubelet takes them', async () => {
  const files = { '/cfg/d/1.conf': `${header}maxpods: 5\nPort: 1\nmemorySwap: {swapbehavior: NoSwap}\n` };
  const { resolved, warnings } = await load(files, '--config-dir=d');
  assert.deepEqual([resolved.maxPods, resolved.port, resolved.memorySwap.swapBehavior], [5, 10250, 'NoSwap']);
  assert.deepEqual(
    warnings.map((w) => w.field),
    ['Port'],
  );
});

test('only a drop-in folder: legacy defaults below, no eviction defaults', async () => {
  const { resolved } = await load({ '/cfg/d/1.conf': `${header}maxPods: 5\n` }, '--config-dir=d');
  assert.equal(resolved.maxPods, 5);
  assert.equal(resolved.authorization.mode, 'AlwaysAllow');
  assert.deepEqual(Object.keys(resolved.evictionHard), []);
});

test('relative paths count from the main file, not from drop-ins and flags', async () => {
  const files = {
    '/cfg/sub/kubelet.yaml': `${header}${standalone}staticPodPath: manifests/\npodLogsDir: ../logs\nresolvConf: r\n`,
    '/cfg/d/1.conf': `${header}volumePluginDir: plugins\n`,
  };
  const { resolved } = await load(files, '--config=sub/kubelet.yaml', '--config-dir=d', '--tls-cert-file=cert.pem');
  assert.equal(resolved.staticPodPath, '/cfg/sub/manifests');
  assert.equal(resolved.podLogsDir, '/cfg/logs');
  assert.equal(resolved.resolvConf, '/cfg/sub/r');
  assert.equal(resolved.volumePluginDir, 'plugins');
  assert.equal(resolved.tlsCertFile, 'cert.pem');
});

test('errors name file, line, column, field, value and rule, all at once', async () => {
  const text = 'maxPods: many\nport: 70000\nregisterWithTaints:\n- key: a\n  effect: Never\nlogging: {format: xml}\n';
  assert.deepEqual(await faultsOf(withConfig(text, '--healthz-port=-1')), [
    '--healthz-port: healthzPort: -1: must be between 1 and 65535 (0 switches it off)',
    'kubelet.yaml:5:10: maxPods: "many": must be a whole number of 32 bits, not text',
    'kubelet.yaml:6:7: port: 70000: must be between 1 and 65535',
    'kubelet.yaml:9:11: registerWithTaints[0].effect: "Never": must be one of "", NoSchedule, PreferNoSchedule, NoExecute',
    'kubelet.yaml:10:19: logging.format: "xml": must be one of text, json',
  ]);
  const json = `{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration",\n "authorization":{"mode":"AlwaysAllow"},\n "authentication":{"webhook":{"enabled":false}},\n "memorySwap":{"swapBehavior":"All"}}`;
  assert.deepEqual(await faultsOf(load({ '/cfg/k.json': json }, '--config=/cfg/k.json')), [
    '/cfg/k.json:4:31: memorySwap.swapBehavior: "All": must be one of "", NoSwap, LimitedSwap',
  ]);
});

test('unknown fields and keys that stand twice are warnings', async () => {
  const { resolved, warnings } = await withConfig('maxPodz: 5\nmaxPods: 6\nmaxPods: 7\nauthentikation: {}\n');
  assert.equal(resolved.maxPods, 7);
  assert.deepEqual(
    warnings.map((w) => `${w.line}:${w.column} ${w.message}`),
    [
      '7:1 duplicate key "maxPods", first in line 6; the last one counts',
      '5:1 unknown field "maxPodz" is ignored (did you mean maxPods?)',
      '8:1 unknown field "authentikation" is ignored (did you mean authentication?)',
    ],
  );
});

test('files that are none', async () => {
  const cases: [string | Uint8Array | null, RegExp][] = [
    ['', /^f:1:1: the file is empty$/],
    ['\n', /^f:1:1: the file holds nothing/],
    ['- a\n', /must be an object/],
    [Buffer.from([0, 1, 2]), /binary file/],
    [null, /^f: is a directory/],
    ['maxPods: 5\n', /apiVersion: is missing[\s\S]*kind: is missing/],
    ['apiVersion: v1\nkind: Pod\n', /^f:1:13: apiVersion: "v1": must be kubelet[\s\S]*\nf:2:7: kind: "Pod": must be KubeletConfiguration/],
    ['a: [\n', /^f:2:1: /],
    [Buffer.alloc(2 << 20, 0x23), /bytes are more than/],
  ];
  for (const [content, message] of cases) {
    assert.match((await faultsOf(load({ '/cfg/f': content }, '--config=f'))).join('\n'), message);
  }
  assert.match((await faultsOf(load({}, '--config=f')))[0] ?? '', /^f: does not exist/);
  assert.match((await faultsOf(load({}, '--config-dir=d')))[0] ?? '', /^d: does not exist/);
  assert.match((await faultsOf(load({ '/cfg/d/a.conf': '' }, '--config-dir=d')))[0] ?? '', /^d\/a\.conf:1:1: the file is empty/);
  assert.match((await faultsOf(load({ '/cfg/d/a.conf': 'kind: X\n' }, '--config-dir=d'))).join('\n'), /apiVersion: is missing/);
});

test('without an API server nobody can be asked', async () => {
  assert.deepEqual(await faultsOf(load({ '/cfg/f': header }, '--config=f')), [
    'f:1:1: authentication.webhook.enabled: true: needs an API server, and --kubeconfig is not given (set it to false)',
    'f:1:1: authorization.mode: "Webhook": needs an API server, and --kubeconfig is not given (set it to AlwaysAllow, with anonymous authentication off)',
  ]);
  assert.equal((await load({ '/cfg/f': header }, '--config=f', '--kubeconfig=k')).resolved.authorization.mode, 'Webhook');
});

test('values that no other host may see are not in messages', async () => {
  const [fault = ''] = await faultsOf(withConfig('staticPodURLHeader: {Authorization: Bearer abc}\n'));
  assert.match(fault, /staticPodURLHeader\[Authorization\]: must be a list/);
  assert.doesNotMatch(fault, /abc/);
  const [flag = ''] = await faultsOf(load({}, '--manifest-url-header=Bearer abc'));
  assert.doesNotMatch(flag, /abc/);
});

test('faults come file by file from top to bottom, those of flags first', async () => {
  const file = (fault: string) => fault.replace(/^(--[a-z-]+|[^:]*:\d+:\d+): .*$/s, '$1');
  const faults = await faultsOf(withConfig('port: 70000\nhairpinMode: loop\nmaxPods: -1\n', '--config-dir=/nope', '--max-pods=x'));
  const lines = faults.map(file);
  assert.equal(lines[0], '--max-pods');
  const places = lines.filter((l) => l.startsWith('kubelet.yaml:')).map((l) => Number(l.split(':')[1]));
  assert.ok(places.length > 2);
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
});

test('a gate that only AllAlpha sets is told at its place', async () => {
  const faults = await faultsOf(withConfig('', '--feature-gates=AllAlpha=true'));
  assert.ok(faults.length > 0);
  for (const fault of faults) assert.match(fault, /^--feature-gates: featureGates\[/);
});
