import { Quantity } from '../../src/api/quantity.ts';
import type { Resources } from '../../src/api/resources.ts';
import type { NodeSystemInfo } from '../../src/kube/types.ts';
import type { NodeIdentity } from '../../src/node/node-object.ts';
import type { NodeFacts } from '../../src/node/status.ts';

const resources = (list: Record<string, string>): Resources =>
  new Map(Object.entries(list).map(([name, text]) => [name, Quantity.parse(text)]));

export const nodeCapacityOf = resources({ cpu: '2', memory: '4Gi', 'ephemeral-storage': '100G', 'hugepages-2Mi': '0', pods: '110' });
export const nodeAllocatableOf = resources({ cpu: '1900m', memory: '3Gi', 'ephemeral-storage': '90G', 'hugepages-2Mi': '0', pods: '110' });

export const nodeInfo: NodeSystemInfo = {
  machineID: 'machine',
  systemUUID: 'uuid',
  bootID: 'boot-1',
  kernelVersion: '6.1.0',
  osImage: 'Debian GNU/Linux 12 (bookworm)',
  containerRuntimeVersion: 'containerd://2.0.0',
  kubeletVersion: 'v1.37.2',
  kubeProxyVersion: '',
  operatingSystem: 'linux',
  architecture: 'amd64',
};

/** For tests of src/node: a machine that is well. */
export function nodeFacts(over: Partial<NodeFacts> = {}): NodeFacts {
  return {
    nodeName: 'n1',
    hostname: 'n1',
    at: '2026-01-01T00:00:00Z',
    pressures: { MemoryPressure: false, DiskPressure: false, PIDPressure: false },
    notReady: [],
    givenIPs: [],
    nodeIPGiven: false,
    foundIPs: ['10.0.0.1'],
    cloudExternal: false,
    capacity: nodeCapacityOf,
    allocatable: nodeAllocatableOf,
    localStorageCapacityIsolation: true,
    nodeInfo,
    kubeletPort: 10250,
    images: [{ names: ['i:1'], sizeBytes: 7 }],
    runtimeHandlers: [],
    features: undefined,
    declaredFeatures: ['A', 'B'],
    volumesInUse: undefined,
    ...over,
  };
}

export function nodeIdentity(over: Partial<NodeIdentity> = {}): NodeIdentity {
  return {
    name: 'n1',
    hostname: 'n1',
    architecture: 'amd64',
    labels: {},
    registerWithTaints: [],
    providerID: '',
    cloudExternal: false,
    enableControllerAttachDetach: true,
    ...over,
  };
}
