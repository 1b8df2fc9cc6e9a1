import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageTypeDefinition, PackageDefinition } from '@grpc/proto-loader';
import { enumNames, loadProtocol, serviceOf } from './load.ts';

const cri = loadProtocol('cri/v1/api');

interface Descriptor {
  field: { name: string; number: number; type: string; label: string }[];
}

function fieldNumber(protocol: PackageDefinition, path: string): number | undefined {
  const [message = '', field = ''] = path.split('.');
  const definition = protocol[`runtime.v1.${message}`] as MessageTypeDefinition<object, object> | undefined;
  return (definition?.type as Descriptor | undefined)?.field.find((f) => f.name === field)?.number;
}

/** Numbers of the public API, picked where a slip would be silent: gaps, late additions, odd orders. */
const wireNumbers: Record<string, number> = {
  'PodSandboxConfig.linux': 8,
  'LinuxSandboxSecurityContext.runAsUser': 3,
  'LinuxSandboxSecurityContext.readonlyRootfs': 4,
  'LinuxSandboxSecurityContext.privileged': 6,
  'LinuxSandboxSecurityContext.runAsGroup': 8,
  'LinuxSandboxSecurityContext.seccomp': 9,
  'LinuxSandboxSecurityContext.supplementalGroupsPolicy': 11,
  'LinuxContainerSecurityContext.runAsUsername': 6,
  'LinuxContainerSecurityContext.apparmorProfile': 9,
  'LinuxContainerSecurityContext.noNewPrivs': 11,
  'LinuxContainerSecurityContext.runAsGroup': 12,
  'LinuxContainerSecurityContext.maskedPaths': 13,
  'LinuxContainerSecurityContext.readonlyPaths': 14,
  'LinuxContainerSecurityContext.seccomp': 15,
  'LinuxContainerSecurityContext.apparmor': 16,
  'LinuxContainerSecurityContext.supplementalGroupsPolicy': 17,
  'LinuxContainerResources.oomScoreAdj': 5,
  'LinuxContainerResources.unified': 9,
  'LinuxContainerResources.memorySwapLimitInBytes': 10,
  'ContainerConfig.linux': 15,
  'ContainerConfig.CDIDevices': 17,
  'ContainerConfig.stopSignal': 18,
  'Mount.uidMappings': 6,
  'Mount.recursiveReadOnly': 8,
  'Mount.imageSubPath': 10,
  'ImageSpec.userSpecifiedImage': 18,
  'ImageSpec.runtimeHandler': 19,
  'Container.imageId': 10,
  'ContainerStatus.imageRef': 9,
  'ContainerStatus.resources': 16,
  'ContainerStatus.imageId': 17,
  'ContainerStatus.user': 18,
  'ContainerStatus.stopSignal': 19,
  'PodSandboxStatusResponse.timestamp': 4,
  'Namespace.options': 2,
  'ExecRequest.tty': 3,
  'AttachRequest.stdin': 2,
  'AttachRequest.tty': 3,
  'Image.pinned': 8,
  'StatusResponse.runtimeHandlers': 3,
  'LinuxPodSandboxStats.io': 6,
  'MemoryUsage.psi': 8,
  'Metric.value': 5,
  'RestorePodRequest.containerConfigs': 5,
  'ContainerEventResponse.containersStatuses': 5,
};

test('field numbers are the public ones', () => {
  for (const [path, number] of Object.entries(wireNumbers)) assert.equal(fieldNumber(cri, path), number, path);
});

test('both services have every call of the public API, streaming where it streams', () => {
  const runtime = serviceOf(cri, 'runtime.v1.RuntimeService');
  const images = serviceOf(cri, 'runtime.v1.ImageService');
  assert.equal(Object.keys(runtime).length, 37);
  assert.deepEqual(Object.keys(images).sort(), ['ImageFsInfo', 'ImageStatus', 'ListImages', 'PullImage', 'RemoveImage', 'StreamImages']);
  const streaming = [...Object.entries(runtime), ...Object.entries(images)].filter(([, m]) => m.responseStream).map(([name]) => name);
  assert.deepEqual(streaming.sort(), [
    'GetContainerEvents',
    'StreamContainerStats',
    'StreamContainers',
    'StreamImages',
    'StreamPodSandboxMetrics',
    'StreamPodSandboxStats',
    'StreamPodSandboxes',
  ]);
  assert.equal(runtime['RunPodSandbox']?.path, '/runtime.v1.RuntimeService/RunPodSandbox');
});

test('a message is on the wire what its numbers say', () => {
  const version = serviceOf(cri, 'runtime.v1.RuntimeService')['Version'];
  assert.equal(version?.requestSerialize({ version: '0.1.0' }).toString('hex'), '0a05302e312e30');
});

test('enum numbers are the public ones', () => {
  const signals = enumNames(cri, 'runtime.v1.Signal');
  assert.equal(signals.size, 66);
  for (const [number, name] of [
    [0, 'RUNTIME_DEFAULT'],
    [13, 'SIGKILL'],
    [23, 'SIGTERM'],
    [34, 'SIGXFSZ'],
    [35, 'SIGRTMIN'],
    [50, 'SIGRTMINPLUS15'],
    [51, 'SIGRTMAXMINUS14'],
    [65, 'SIGRTMAX'],
  ] as const) {
    assert.equal(signals.get(number), `SIGNAL_${name}`);
  }
  assert.deepEqual(
    [...enumNames(cri, 'runtime.v1.ContainerState').values()],
    ['CONTAINER_CREATED', 'CONTAINER_RUNNING', 'CONTAINER_EXITED', 'CONTAINER_UNKNOWN'],
  );
});

test('what is missing is named', () => {
  assert.throws(() => loadProtocol('no/such'), /proto\/no\/such\.proto/);
  assert.throws(() => serviceOf(cri, 'runtime.v1.Image'), /no service runtime\.v1\.Image/);
  assert.throws(() => enumNames(cri, 'runtime.v1.Nope'), /no enum/);
});
