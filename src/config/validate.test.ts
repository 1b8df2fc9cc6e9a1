import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigBuilder } from './load.ts';
import { readConfigData } from './read-file.ts';
import { header, memoryIo } from './test-io.ts';

/** Fields that are refused in a configuration of these lines. */
function refused(text: string, cgroupV2 = true): string[] {
  const builder = new ConfigBuilder(memoryIo({}));
  builder.main(readConfigData(Buffer.from(header + text), 'f'), '/cfg/f', 'f');
  builder.evictionDefaults();
  builder.finish({ cgroupV2 });
  return builder.faults.map((f) => f.field);
}

const cases: [text: string, ...fields: string[]][] = [
  [''],
  ['nodeLeaseDurationSeconds: -1', 'nodeLeaseDurationSeconds'],
  ['healthzPort: 0\nreadOnlyPort: 0'],
  ['port: -1\nreadOnlyPort: 65536\nhealthzPort: 65536', 'port', 'healthzPort', 'readOnlyPort'],
  ['maxOpenFiles: -1\nkubeAPIQPS: -1\npodsPerCore: -1', 'kubeAPIQPS', 'maxOpenFiles', 'podsPerCore'],
  ['imageMinimumGCAge: 2m\nimageMaximumGCAge: 2m', 'imageMaximumGCAge'],
  ['cpuCFSQuotaPeriod: 999us', 'cpuCFSQuotaPeriod'],
  ['cpuCFSQuotaPeriod: 1s'],
  ['featureGates: {CustomCPUCFSQuotaPeriod: false}\ncpuCFSQuotaPeriod: 10ms', 'cpuCFSQuotaPeriod'],
  ['systemCgroups: /x', 'systemCgroups'],
  ['memorySwap: {swapBehavior: LimitedSwap}'],
  ['memorySwap: {swapBehavior: UnlimitedSwap}', 'memorySwap.swapBehavior'],
  ['memoryThrottlingFactor: 0', 'memoryThrottlingFactor'],
  ['memoryThrottlingFactor: 1.01', 'memoryThrottlingFactor'],
  ['featureGates: {MemoryQoS: false}\nmemoryThrottlingFactor: 0.9'],
  ['featureGates: {MemoryQoS: false}\nmemoryThrottlingFactor: 0.8', 'memoryThrottlingFactor'],
  ['featureGates: {MemoryQoS: false}\nmemoryReservationPolicy: TieredReservation', 'memoryReservationPolicy'],
  ['crashLoopBackOff: {maxContainerRestartPeriod: 300s}'],
  ['crashLoopBackOff: {maxContainerRestartPeriod: 999ms}', 'crashLoopBackOff.maxContainerRestartPeriod'],
  [
    'shutdownGracePeriod: 30s\nshutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 2}]',
    'shutdownGracePeriodByPodPriority',
  ],
  ['shutdownGracePeriodCriticalPods: 1s', 'shutdownGracePeriodCriticalPods'],
  ['containerLogMonitorInterval: 3s'],
  ['containerLogMonitorInterval: 2999999us', 'containerLogMonitorInterval'],
  ['podLogsDir: /var//log', 'podLogsDir'],
  ['podLogsDir: /var/log/ö', 'podLogsDir'],
  ['podLogsDir: /'],
  ['showHiddenMetricsForVersion: "1.36"'],
  ['showHiddenMetricsForVersion: "1.35"', 'showHiddenMetricsForVersion'],
  ['enableSystemLogQuery: true\nenableSystemLogHandler: false', 'enableSystemLogQuery'],
  ['enforceNodeAllocatable: [pods, system-reserved, system-reserved-compressible]\nsystemReservedCgroup: /s', 'enforceNodeAllocatable'],
  ['enforceNodeAllocatable: [kube-reserved-compressible]', 'kubeReservedCgroup'],
  ['enforceNodeAllocatable: [none, pods]', 'enforceNodeAllocatable[0]'],
  ['enforceNodeAllocatable: [Pods]', 'enforceNodeAllocatable[0]'],
  ['cgroupsPerQOS: false', 'cgroupsPerQOS'],
  ['reservedSystemCPUs: "0-2,4"'],
  ['reservedSystemCPUs: "0-"', 'reservedSystemCPUs'],
  ['reservedSystemCPUs: "0, 1"', 'reservedSystemCPUs'],
  ['reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}, {numaNode: 0, limits: {memory: 2Gi}}]', 'reservedMemory[1].limits[memory]'],
  ['reservedMemory: [{numaNode: 0, limits: {memory: 0, disk: 1}}]', 'reservedMemory[0].limits[memory]', 'reservedMemory[0].limits[disk]'],
  ['registerWithTaints: [{key: a, effect: NoSchedule, timeAdded: "2026-01-01T00:00:00Z"}]', 'registerWithTaints[0].timeAdded'],
  ['registerWithTaints: [{key: "", effect: NoSchedule}]', 'registerWithTaints[0].key'],
  ['userNamespaces: {idsPerPod: 4294967296}', 'userNamespaces.idsPerPod'],
  ['userNamespaces: {idsPerPod: 65535}', 'userNamespaces.idsPerPod'],
  [
    'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [a/b, "reg:5000/*", reg.io/x/y]',
  ],
  ['preloadedImagesVerificationAllowlist: [a/b]', 'preloadedImagesVerificationAllowlist'],
  ...['" a"', '"/*"', '"*"', '"a*b"', 'a:tag', 'A/B', `a@sha256:${'0'.repeat(64)}`].map((image): [string, string] => [
    `imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [${image}]`,
    'preloadedImagesVerificationAllowlist',
  ]),
  ['logging: {flushFrequency: -1s}', 'logging.flushFrequency'],
  ['logging: {verbosity: 2147483648}', 'logging.verbosity'],
  [
    'logging: {options: {text: {splitStream: true}, json: {infoBufferSize: 1Ki}}}',
    'logging.options.text.splitStream',
    'logging.options.json.infoBufferSize',
  ],
  ['featureGates: {LoggingAlphaOptions: true}\nlogging: {options: {text: {splitStream: true, infoBufferSize: 1Ki}}}'],
  ['featureGates: {LoggingBetaOptions: false}\nlogging: {format: json}', 'logging.format'],
  ['tracing: {endpoint: "localhost:4317", samplingRatePerMillion: 1000000}'],
  ['tracing: {endpoint: "unix:///x.sock"}'],
  ['tracing: {endpoint: "host:port"}', 'tracing.endpoint'],
  ['tracing: {endpoint: "dns://a b"}', 'tracing.endpoint'],
  ['tracing: {endpoint: "dns://[::1"}', 'tracing.endpoint'],
  [
    'featureGates: {DefaultPodSysctls: true}\ndefaultPodSysctls: {net.core.somaxconn: "1", vm.swappiness: "1"}',
    'defaultPodSysctls[vm.swappiness]',
  ],
  // What is checked while the parts are built.
  ['address: localhost', 'address'],
  ['authorization: {mode: RBAC}', 'authorization.mode'],
  ['syncFrequency: -1s\nruntimeRequestTimeout: -1s', 'syncFrequency', 'runtimeRequestTimeout'],
  ['tlsCurvePreferences: [29, 23, 29, 1]', 'tlsCurvePreferences[2]', 'tlsCurvePreferences[3]'],
  ['evictionHard: {memory.available: "0%", pid.available: "100%", nodefs.available: 5Gi}'],
  [
    'evictionHard: {memory.available: "101%", nodefs.available: "0", pid.available: x%}',
    'evictionHard[memory.available]',
    'evictionHard[nodefs.available]',
    'evictionHard[pid.available]',
  ],
  ['evictionSoft: {memory.available: 1Gi}', 'evictionSoft[memory.available]'],
  ['evictionSoft: {memory.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m}'],
  [
    'evictionSoftGracePeriod: {memory.available: -1m, foo: 1m}',
    'evictionSoftGracePeriod[memory.available]',
    'evictionSoftGracePeriod[foo]',
  ],
  ['evictionMinimumReclaim: {memory.available: 0, nodefs.available: "1%"}', 'evictionMinimumReclaim[memory.available]'],
  ['evictionMinimumReclaim: {memory.available: "0", nodefs.available: "0%"}', 'evictionMinimumReclaim[nodefs.available]'],
  ['systemReserved: {cpu: 100m, memory: 1Gi, pid: "100", ephemeral-storage: 1Gi}'],
  ['systemReserved: {storage: 1Gi}\nkubeReserved: {cpu: ten}', 'systemReserved[storage]', 'kubeReserved[cpu]'],
  ['qosReserved: {memory: "50%"}', 'qosReserved'],
  ['featureGates: {QOSReserved: true}\nqosReserved: {memory: "150%", cpu: "1%"}', 'qosReserved[memory]', 'qosReserved[cpu]'],
  ['allowedUnsafeSysctls: ["net.*", kernel.msgmax, "kernel.shm*"]'],
  [
    'allowedUnsafeSysctls: [vm.swappiness, "net.*.x", "*"]',
    'allowedUnsafeSysctls[0]',
    'allowedUnsafeSysctls[1]',
    'allowedUnsafeSysctls[2]',
  ],
  ['containerLogMaxSize: -1'.replace('-1', '"-1"')],
];

test('the rules of every field', () => {
  for (const [text, ...fields] of cases) assert.deepEqual(refused(`${text}\n`), fields, text);
});

test('cgroup v1', () => {
  assert.deepEqual(refused('', false), ['failCgroupV1']);
  assert.deepEqual(refused('failCgroupV1: false\n', false), []);
  assert.deepEqual(refused('failCgroupV1: false\nsingleProcessOOMKill: false\n', false), ['singleProcessOOMKill']);
  assert.deepEqual(refused('failCgroupV1: false\nmemorySwap: {swapBehavior: LimitedSwap}\n', false), ['memorySwap.swapBehavior']);
  assert.deepEqual(refused('singleProcessOOMKill: false\n'), []);
});

test('a value that cannot be read is told once', () => {
  assert.deepEqual(refused('port: x\nevictionHard: {memory.available: 5}\nclusterDNS: [1]\n'), [
    'port',
    'evictionHard[memory.available]',
    'clusterDNS[0]',
  ]);
});
