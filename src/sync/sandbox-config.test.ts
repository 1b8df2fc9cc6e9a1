import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testNodeSettings } from '../../test/support/node-settings.ts';
import type { Container, PodSpec } from '../api/types.ts';
import type { SandboxConfigInput } from './sandbox-config.ts';
import { sandboxConfig } from './sandbox-config.ts';

function config(spec: Partial<PodSpec> = {}, more: Partial<SandboxConfigInput> = {}) {
  const containers: Container[] = [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort: 8080, hostIP: '127.0.0.1' }] }];
  return sandboxConfig({
    pod: {
      metadata: { name: 'p', namespace: 'ns', uid: 'u', labels: { app: 'x', 'io.kubernetes.pod.name': 'forged' }, annotations: { a: 'b' } },
      spec: { containers, ...spec },
    },
    attempt: 2,
    cgroupParent: '/kubepods/besteffort/podu',
    podLogsDir: '/var/log/pods',
    dns: { servers: ['10.0.0.10'], searches: [], options: [] },
    clusterDomain: 'cluster.local',
    node: testNodeSettings(),
    ...more,
  });
}

describe('sandboxConfig', () => {
  it('tells the runtime everything', () => {
    assert.deepEqual(config(), {
      metadata: { name: 'p', namespace: 'ns', uid: 'u', attempt: 2 },
      hostname: 'p',
      logDirectory: '/var/log/pods/ns_p_u',
      dnsConfig: { servers: ['10.0.0.10'], searches: [], options: [] },
      portMappings: [{ protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '127.0.0.1' }],
      labels: { app: 'x', 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'ns', 'io.kubernetes.pod.uid': 'u' },
      annotations: { a: 'b' },
      linux: {
        cgroupParent: '/kubepods/besteffort/podu',
        sysctls: {},
        securityContext: {
          privileged: false,
          seccomp: { profileType: 'RuntimeDefault' },
          namespaceOptions: { network: 'POD', ipc: 'POD', pid: 'CONTAINER' },
          supplementalGroups: [],
        },
        resources: { cpuShares: 2, cpuQuota: 0, cpuPeriod: 100_000 },
        overhead: {},
      },
    });
  });

  it('has no host name in the network of the host, but its ports', () => {
    const got = config({ hostNetwork: true });
    assert.equal('hostname' in got, false);
    assert.equal(got.portMappings.length, 1);
    assert.equal(got.linux?.securityContext?.namespaceOptions?.network, 'NODE');
  });

  it('is privileged when any container is, an init container too', () => {
    const initContainers: Container[] = [{ name: 'i', image: 'i', securityContext: { privileged: true }, ports: [{ containerPort: 1 }] }];
    const got = config({ initContainers });
    assert.equal(got.linux?.securityContext?.privileged, true);
    assert.deepEqual(
      got.portMappings.map((port) => port.containerPort),
      [80],
    );
  });

  it('orders groups: fsGroup, volumes, the list', () => {
    const securityContext = {
      fsGroup: 10,
      supplementalGroups: [30],
      runAsUser: 0,
      runAsGroup: 3,
      supplementalGroupsPolicy: 'Merge' as const,
    };
    const got = config({ securityContext }, { volumeGroups: [20] }).linux?.securityContext;
    assert.deepEqual(
      [got?.supplementalGroups, got?.runAsUser, got?.runAsGroup, got?.supplementalGroupsPolicy],
      [[10, 20, 30], 0, 3, 'Merge'],
    );
  });

  it('puts the sysctls of the pod over the defaults of the node, which need a namespace of the pod', () => {
    const node = testNodeSettings({
      defaultPodSysctls: { 'net/core/somaxconn': '1', 'kernel.sem': '2', 'vm.swappiness': '3', 'user.x': '4' },
    });
    const own = { sysctls: [{ name: 'kernel.sem', value: 'own' }] };
    assert.deepEqual(config({ securityContext: own }, { node }).linux?.sysctls, { 'net.core.somaxconn': '1', 'kernel.sem': 'own' });
    assert.deepEqual(config({ hostNetwork: true, hostIPC: true }, { node }).linux?.sysctls, {});
  });

  it('refuses what the CRI has no word for', () => {
    const protocol = 'ICMP' as 'TCP';
    const refusal = { code: 'ConfigPodSandboxError' };
    assert.throws(() => config({ containers: [{ name: 'c', ports: [{ containerPort: 1, protocol }] }] }), refusal);
    assert.throws(() => config({ securityContext: { supplementalGroupsPolicy: 'Other' as 'Merge' } }), refusal);
    assert.throws(() => config({ hostname: 'Bad_Name' }), refusal);
  });
});
