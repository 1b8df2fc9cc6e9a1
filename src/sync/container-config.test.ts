import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testNodeSettings } from '../../test/support/node-settings.ts';
import type { Container, Pod } from '../api/types.ts';
import type { ContainerConfigInput } from './container-config.ts';
import { containerConfig } from './container-config.ts';

function input(container: Partial<Container>, more: Partial<ContainerConfigInput> = {}): ContainerConfigInput {
  const full: Container = { name: 'c', image: 'busybox:1', ...container };
  const pod: Pod = {
    metadata: { name: 'p', namespace: 'ns', uid: 'u', deletionGracePeriodSeconds: 5, labels: { app: 'x' } },
    spec: { containers: [full], terminationGracePeriodSeconds: 0 },
  };
  return {
    pod,
    container: full,
    restartCount: 3,
    imageRef: 'sha256:1',
    user: { uid: 7 },
    env: [{ name: 'A', value: '1' }],
    mounts: [{ containerPath: '/m', hostPath: '/h' }],
    node: testNodeSettings(),
    allocatable: {},
    ...more,
  };
}

describe('containerConfig', () => {
  it('tells the runtime everything', () => {
    const got = containerConfig(
      input({
        command: ['run', '$(A)'],
        args: ['$(B)'],
        workingDir: '/w',
        tty: true,
        stdin: true,
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        ports: [{ containerPort: 80 }],
        lifecycle: { preStop: { sleep: { seconds: 1 } }, stopSignal: 'SIGUSR1' },
      }),
    );
    const { linux, annotations, ...rest } = got;
    assert.deepEqual(rest, {
      metadata: { name: 'c', attempt: 3 },
      image: { image: 'sha256:1', userSpecifiedImage: 'busybox:1' },
      command: ['run', '1'],
      args: ['$(B)'],
      workingDir: '/w',
      envs: [{ key: 'A', value: '1' }],
      mounts: [{ containerPath: '/m', hostPath: '/h' }],
      devices: [],
      labels: {
        'io.kubernetes.pod.name': 'p',
        'io.kubernetes.pod.namespace': 'ns',
        'io.kubernetes.pod.uid': 'u',
        'io.kubernetes.container.name': 'c',
      },
      logPath: 'c/3.log',
      stdin: true,
      stdinOnce: false,
      tty: true,
    });
    assert.match(annotations['io.kubernetes.container.hash'] ?? '', /^[0-9a-f]{1,8}$/);
    assert.deepEqual(
      { ...annotations, 'io.kubernetes.container.hash': '' },
      {
        'io.kubernetes.container.hash': '',
        'io.kubernetes.container.restartCount': '3',
        'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
        'io.kubernetes.container.terminationMessagePolicy': 'File',
        'io.kubernetes.container.preStopHandler': '{"sleep":{"seconds":1}}',
        'io.kubernetes.container.ports': '[{"containerPort":80}]',
        'io.kubernetes.pod.deletionGracePeriod': '5',
        'io.kubernetes.pod.terminationGracePeriod': '0',
      },
    );
    assert.equal(linux?.securityContext?.runAsUser, 7);
    assert.equal(linux?.resources?.cpuShares, 2);
  });

  it('keeps its own annotations from plugins', () => {
    const got = containerConfig(input({}, { pluginAnnotations: { x: '1', 'io.kubernetes.container.restartCount': '99' } }));
    assert.equal(got.annotations['x'], '1');
    assert.equal(got.annotations['io.kubernetes.container.restartCount'], '3');
  });

  it('sends a stop signal only where the gate is on', () => {
    const node = testNodeSettings({ containerStopSignals: true });
    assert.equal(containerConfig(input({ lifecycle: { stopSignal: 'SIGUSR1' } }, { node })).stopSignal, 'SIGUSR1');
  });

  it('maps mounts into the user namespace of the pod', () => {
    const ids = [{ hostId: 65536, containerId: 0, length: 65536 }];
    const base = input({}, { userns: { mode: 'POD', uids: ids, gids: ids } });
    const pod = { ...base.pod, spec: { ...base.pod.spec, hostUsers: false } };
    assert.deepEqual(containerConfig({ ...base, pod }).mounts, [
      { containerPath: '/m', hostPath: '/h', uidMappings: ids, gidMappings: ids },
    ]);
  });

  it('checks the user on every create', () => {
    const security = { securityContext: { runAsNonRoot: true } };
    assert.equal(containerConfig(input(security)).linux?.securityContext?.runAsUser, 7);
    assert.throws(() => containerConfig(input(security, { user: { uid: 0 } })), { code: 'CreateContainerConfigError' });
  });
});
