import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AdmissionNode } from '../admission/general-predicates.ts';
import type { Container, Pod, PodSpec } from '../api/types.ts';
import { resolveConfig } from '../config/resolve.ts';
import type { KubeletConfiguration } from '../config/types.ts';
import { pressureCheck } from '../eviction/admission.ts';
import type { Pressure } from '../eviction/observations.ts';
import { nodeAdmission } from './admission.ts';

const node: AdmissionNode = {
  name: 'n1',
  labels: {},
  taints: [{ key: 'gone', effect: 'NoExecute' }],
  allocatable: { cpu: '2', memory: '1Gi', 'ephemeral-storage': '1Gi', pods: '2', 'example.com/gpu': '0' },
  supportsStrictGroups: false,
};
const tolerations = [{ operator: 'Exists' }];
const container = (more: Partial<Container> = {}): Container => ({ name: 'c', image: 'i', ...more });
const pod = (spec: Partial<PodSpec> = {}, labels: Record<string, string> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u', labels, annotations: { 'kubernetes.io/config.source': 'api' } },
  spec: { containers: [container()], tolerations, ...spec },
});
const asking = (requests: Record<string, string>) => pod({ containers: [container({ resources: { requests } })] });
const sysctl = (name: string, more: Partial<PodSpec> = {}) =>
  pod({ securityContext: { sysctls: [{ name, value: '1' }] }, ...more } as Partial<PodSpec>);
const port = [{ containerPort: 1, hostPort: 80 }];

interface Case {
  reason: string;
  message: string;
  pod: Pod;
  others?: Pod[];
  pressures?: Pressure[];
  gates?: Record<string, boolean>;
  shutdown?: boolean;
  features?: { supplementalGroupsPolicy: boolean };
}

const lack = (resource: string, requested: number, used: number, capacity: number) =>
  `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`;

/** In the order in which they are asked. */
const cases: readonly Case[] = [
  { reason: 'Evicted', message: 'The node had condition: [DiskPressure]. ', pod: pod(), pressures: ['DiskPressure'] },
  { reason: 'SysctlForbidden', message: 'forbidden sysctl: "kernel.msgmax" not allowlisted', pod: sysctl('kernel.msgmax') },
  {
    reason: 'SysctlForbidden',
    message: 'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
    pod: sysctl('net.ipv4.tcp_syncookies', { hostNetwork: true }),
  },
  {
    reason: 'PodOSSelectorNodeLabelDoesNotMatch',
    message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    pod: pod({}, { 'kubernetes.io/os': 'windows' }),
  },
  {
    reason: 'PodOSNotSupported',
    message: "Failed to admit pod as the OS field doesn't match node OS",
    pod: pod({ os: { name: 'windows' } }),
  },
  {
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    pod: pod({ securityContext: { supplementalGroupsPolicy: 'Strict' } } as Partial<PodSpec>),
  },
  { reason: 'OutOfpods', message: lack('pods', 1, 2, 2), pod: pod(), others: [pod(), pod()] },
  { reason: 'OutOfcpu', message: lack('cpu', 3000, 0, 2000), pod: asking({ cpu: '3' }) },
  { reason: 'OutOfmemory', message: lack('memory', 2 * 1024 ** 3, 0, 1024 ** 3), pod: asking({ memory: '2Gi' }) },
  {
    reason: 'OutOfephemeral-storage',
    message: lack('ephemeral-storage', 2 * 1024 ** 3, 0, 1024 ** 3),
    pod: asking({ 'ephemeral-storage': '2Gi' }),
  },
  { reason: 'OutOfexample.com/gpu', message: lack('example.com/gpu', 1, 0, 0), pod: asking({ 'example.com/gpu': '1' }) },
  {
    reason: 'NodeAffinity',
    message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    pod: pod({ nodeSelector: { a: 'b' } }),
  },
  {
    reason: 'NodeName',
    message: "Predicate NodeName failed: node(s) didn't match the requested node name",
    pod: pod({ nodeName: 'n2' }),
  },
  {
    reason: 'NodePorts',
    message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    pod: pod({ containers: [container({ ports: port })] }),
    others: [pod({ containers: [container({ ports: port })] })],
  },
  {
    reason: 'TaintToleration',
    message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    pod: pod({ tolerations: [] }),
  },
  {
    reason: 'UnexpectedAdmissionError',
    message:
      'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ' +
      'no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]',
    pod: { ...asking({ cpu: '3' }), spec: { ...asking({ cpu: '3' }).spec, priority: 2_000_000_000 } },
  },
  {
    reason: 'PodLevelResourcesNotSupported',
    message: 'Pod-level resources are not supported on this node: feature gate PodLevelResources is disabled',
    pod: pod({ resources: { requests: { cpu: '1' } } }),
    gates: {
      PodLevelResources: false,
      InPlacePodLevelResourcesVerticalScaling: false,
      PodLevelResourcesFixDefaulting: false,
      PodLevelResourcesFixKubeletQOSClass: false,
    },
  },
  {
    reason: 'PodFeatureUnsupported',
    message: 'Pod requires node features that are not available: UserNamespacesHostNetworkSupport',
    pod: pod({ hostUsers: false, hostNetwork: true }),
  },
  { reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.', pod: pod(), shutdown: true },
];

async function admitting({ pressures = [], gates = {}, shutdown = false }: Partial<Case>) {
  const config = resolveConfig({ allowedUnsafeSysctls: ['kernel.shm*'], featureGates: gates } as unknown as KubeletConfiguration);
  return nodeAdmission({
    config,
    kernelVersion: '6.1.0',
    node: () => node,
    runtimeFeatures: () => ({ supplementalGroupsPolicy: false }),
    pressure: pressureCheck(() => pressures),
    ...(shutdown
      ? {
          shutdown: {
            name: 'shutdown',
            admit: () => ({ reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' }),
          },
        }
      : {}),
  });
}

describe('admission: every reason with its message', () => {
  for (const { reason, message, ...more } of cases) {
    it(`${reason}: ${message}`, async () => {
      const verdict = (await admitting(more))(more.pod, more.others ?? []);
      assert.ok(verdict !== undefined && 'reason' in verdict);
      assert.deepEqual([verdict.reason, verdict.message], [reason, message]);
    });
  }

  it('and a pod that nothing speaks against', async () => {
    const admit = await admitting({});
    assert.equal(admit(pod(), [pod()]), undefined);
    assert.equal(admit(sysctl('kernel.shmmax'), []), undefined, 'allowed by the configuration');
    assert.equal(admit(sysctl('net.ipv4.tcp_syncookies'), []), undefined, 'safe');
  });
});
