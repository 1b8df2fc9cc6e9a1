import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatFault } from './errors.ts';
import { applyFlags, flagNames, parseFlags } from './flags.ts';
import { getPath, newObject } from './json-object.ts';

/** The value that a field gets from the command line; messages of faults and warnings. */
function read(path: string, ...argv: string[]): unknown {
  const config = newObject();
  const parsed = parseFlags(argv);
  const { faults } = applyFlags(config, parsed);
  assert.deepEqual([...parsed.faults, ...faults].map(formatFault), []);
  return JSON.parse(JSON.stringify(getPath(config, path) ?? null));
}

function faults(...argv: string[]): string[] {
  const parsed = parseFlags(argv);
  return [...parsed.faults, ...applyFlags(newObject(), parsed).faults].map(formatFault);
}

test('all forms of one value', () => {
  for (const argv of [['--v=2'], ['--v', '2'], ['-v=2'], ['-v2'], ['-v', '2'], ['--v=9', '--v=2']]) {
    assert.equal(read('logging.verbosity', ...argv), 2, argv.join(' '));
  }
  assert.equal(read('maxPods', '--max_pods', '5'), 5);
  assert.equal(read('maxPods', '--max-pods=0x10'), 16);
  assert.equal(read('syncFrequency', '--sync-frequency=90s'), '1m30s');
  assert.equal(read('clusterDomain', '--cluster-domain='), '');
  assert.equal(read('clusterDomain', '--cluster-domain', '--weird'), '--weird');
});

test('booleans take a value only behind an equal sign', () => {
  assert.equal(read('failSwapOn', '--fail-swap-on'), true);
  assert.equal(read('failSwapOn', '--fail-swap-on=false'), false);
  assert.equal(read('failSwapOn', '--fail-swap-on=F'), false);
  assert.deepEqual(faults('--fail-swap-on', 'false'), ['"false": is no command of the kubelet (write --fail-swap-on=false)']);
  assert.deepEqual(faults('--fail-swap-on=nope'), ['--fail-swap-on: failSwapOn: "nope": must be true or false']);
});

test('maps, lists and their repetition', () => {
  assert.deepEqual(read('evictionHard', '--eviction-hard=memory.available<1Gi,nodefs.available<10%'), {
    'memory.available': '1Gi',
    'nodefs.available': '10%',
  });
  assert.deepEqual(read('evictionSoftGracePeriod', '--eviction-soft-grace-period', 'a=1m', '--eviction-soft-grace-period= b = 2m ,'), {
    a: '1m',
    b: '2m',
  });
  assert.deepEqual(read('cpuManagerPolicyOptions', '--cpu-manager-policy-options=a=b,c', '--cpu-manager-policy-options=d=e'), {
    a: 'b,c',
    d: 'e',
  });
  assert.deepEqual(read('featureGates', '--feature-gates=A=true,B=false', '--feature-gates', 'C=1'), { A: true, B: false, C: true });
  assert.deepEqual(read('clusterDNS', '--cluster-dns=1.1.1.1,2.2.2.2', '--cluster-dns=3.3.3.3'), ['1.1.1.1', '2.2.2.2', '3.3.3.3']);
  assert.deepEqual(read('enforceNodeAllocatable', '--enforce-node-allocatable='), []);
  assert.deepEqual(read('tlsCipherSuites', '--tls-cipher-suites="a,b",c""'.replace('c""', 'c')), ['a,b', 'c']);
  assert.deepEqual(read('staticPodURLHeader', '--manifest-url-header=K: V ,k2:a:b', '--manifest-url-header', 'K:W'), {
    K: ['V', 'W'],
    k2: ['a:b'],
  });
  assert.deepEqual(read('registerWithTaints', '--register-with-taints=a=b:NoSchedule,c:NoExecute'), [
    { key: 'a', value: 'b', effect: 'NoSchedule' },
    { key: 'c', effect: 'NoExecute' },
  ]);
  assert.deepEqual(
    read('reservedMemory', '--reserved-memory=0:memory=1024Mi,hugepages-2Mi=4Mi;1:memory=1Gi', '--reserved-memory=2:memory=5'),
    [
      { numaNode: 0, limits: { memory: '1Gi', 'hugepages-2Mi': '4Mi' } },
      { numaNode: 1, limits: { memory: '1Gi' } },
      { numaNode: 2, limits: { memory: '5' } },
    ],
  );
  assert.deepEqual(read('logging.vmodule', '--vmodule=a=1,b*=2'), [
    { filePattern: 'a', verbosity: 1 },
    { filePattern: 'b*', verbosity: 2 },
  ]);
});

test('flags without a field', () => {
  const argv = [
    '--node-labels=a=b,c',
    '--node-labels',
    'd=e=f',
    '--root-dir=/r',
    '--seccomp-default',
    '--minimum-container-ttl-duration=1m',
    '--maximum-dead-containers=-3',
  ];
  const { flags, given, faults: wrong } = parseFlags(argv);
  assert.deepEqual(wrong, []);
  assert.deepEqual({ ...flags.nodeLabels }, { a: 'b', c: '', d: 'e=f' });
  assert.equal(flags.rootDir, '/r');
  assert.equal(flags.seccompDefault, true);
  assert.equal(flags.minimumContainerTTLDurationMs, 60_000);
  assert.equal(flags.maximumDeadContainers, -3);
  assert.equal(flags.certDir, '/var/lib/kubelet/pki');
  assert.deepEqual([...given], ['node-labels', 'root-dir', 'seccomp-default', 'minimum-container-ttl-duration', 'maximum-dead-containers']);
});

test('help and version', () => {
  assert.equal(parseFlags(['--help']).help, true);
  assert.equal(parseFlags(['-hv2']).help, true);
  assert.equal(parseFlags(['--version']).version, 'true');
  assert.equal(parseFlags(['--version=raw']).version, 'raw');
  assert.equal(parseFlags(['--version=false']).version, undefined);
  assert.equal(parseFlags(['--max-pods=3']).version, undefined);
});

test('deprecated flags work and warn once; removed ones warn and do nothing', () => {
  const parsed = parseFlags(['--max-pods=3', '--max-pods=4', '--v=1', '--provider-id=x', '--experimental-mounter-path=x']);
  assert.deepEqual(
    parsed.warnings.map((w) => w.message.split(',')[0]),
    ['Flag --max-pods has been deprecated', 'Flag --experimental-mounter-path has been deprecated'],
  );
  assert.match(
    parsed.warnings[0]?.message ?? '',
    /This parameter should be set via the config file specified by the Kubelet's --config flag/,
  );
  const removed = parseFlags([
    '--container-runtime',
    'remote',
    '--pod-infra-container-image=x',
    '--logtostderr',
    '--keep_terminated_pod_volumes=true',
  ]);
  assert.deepEqual(removed.faults, []);
  assert.equal(removed.warnings.length, 4);
  assert.match(removed.warnings[0]?.message ?? '', /--container-runtime has been removed and is ignored/);
});

test('unknown flags, positional arguments and missing values', () => {
  assert.deepEqual(faults('--max-pod=5'), ['--max-pod: unknown flag (did you mean --max-pods?)']);
  assert.deepEqual(faults('--xyzzy-nothing'), ['--xyzzy-nothing: unknown flag (--help lists all flags)']);
  assert.deepEqual(faults('run'), ['"run": is no command of the kubelet (flags begin with --)']);
  assert.deepEqual(faults('--', '--v=2'), ['"--v=2": is no command of the kubelet (flags begin with --)']);
  assert.deepEqual(faults('--max-pods'), ['--max-pods: needs a value (write --max-pods=VALUE)']);
  assert.deepEqual(faults('-max-pods=5'), ['"-max-pods=5": unknown flag (write two dashes: --max-pods=5)']);
  assert.deepEqual(faults('--=5'), ['"--": is no flag']);
  // All of them at once.
  assert.equal(
    faults('--a-b-c', '--max-pods=x', '--feature-gates=A=maybe', '--eviction-hard=a', '--address=home', '--sync-frequency=1').length,
    6,
  );
});

test('taints need an effect; a removal is dropped', () => {
  assert.deepEqual(read('registerWithTaints', '--register-with-taints=a:NoSchedule-,b=c:NoExecute'), [
    { key: 'b', value: 'c', effect: 'NoExecute' },
  ]);
  for (const text of ['a', 'a=b', 'a:Never', 'a:NoSchedule:x', 'a=b=c:NoSchedule', 'a:NoSchedule,a=1:NoSchedule']) {
    assert.equal(faults(`--register-with-taints=${text}`).length, 1, text);
  }
});

test('addresses', () => {
  assert.equal(read('address', '--address=::1'), '::1');
  assert.equal(read('address', '--address='), null);
  for (const text of ['x', '1.2.3', 'fe80::1%eth0']) assert.equal(faults(`--address=${text}`).length, 1, text);
});

test('integers by Go rules', () => {
  assert.equal(read('logging.verbosity', '--v=010'), 10);
  assert.equal(faults('--v=0x10').length, 1);
  for (const text of ['', 'x', '1.0', '08', '1__0', '99999999999']) assert.equal(faults(`--max-pods=${text}`).length, 1, text);
  assert.equal(read('maxPods', '--max-pods=-1'), -1);
  assert.equal(faults('--v=-1').length, 1);
});

test('every flag of the real kubelet is known', () => {
  assert.equal(flagNames().length, 107 + 22 + 2);
  for (const name of ['kube-api-content-type', 'runonce', 'log-json-info-buffer-size', 'housekeeping-interval', 'reserved-cpus']) {
    assert.ok(flagNames().includes(name), name);
  }
});
