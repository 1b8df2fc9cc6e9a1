import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { testNodeSettings } from '../../test/support/node-settings.ts';
import type { Container, Pod } from '../api/types.ts';
import type { Image } from '../cri/types.ts';
import { nodeFiles } from '../host/files-node.ts';
import type { ContainerSpecInput } from './context.ts';
import type { PodSpecBuilderDeps } from './spec-builder.ts';
import { PodSpecBuilder } from './spec-builder.ts';

const image: Image = { id: 'sha256:1', repoTags: [], repoDigests: [], size: 1, username: '', uid: 5, pinned: false };

function podOf(container: Partial<Container> = {}, spec: Partial<Pod['spec']> = {}): Pod {
  const full: Container = { name: 'c', image: 'busybox', terminationMessagePath: '/dev/termination-log', ...container };
  return { metadata: { name: 'p', namespace: 'ns', uid: 'u1' }, spec: { containers: [full], ...spec } };
}

describe('PodSpecBuilder', () => {
  let rootDir = '';
  beforeEach(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'specs-'));
  });
  afterEach(() => rm(rootDir, { recursive: true }));

  function builder(more: Partial<PodSpecBuilderDeps> = {}): PodSpecBuilder {
    return new PodSpecBuilder({
      node: testNodeSettings(),
      nodeName: 'n1',
      clusterDomain: 'cluster.local',
      rootDir,
      podLogsDir: '/var/log/pods',
      files: nodeFiles,
      random: { float: () => 0, hex: (n) => 'ab'.repeat(n) },
      images: { imageStatus: () => Promise.resolve(image) },
      hostIps: () => ['192.0.2.1'],
      allocatable: () => ({}),
      cgroupParent: () => '/kubepods/besteffort/podu1',
      dns: () => ({ servers: [], searches: [], options: [] }),
      runtimeHandler: () => 'runc',
      volumeMounts: () => Promise.resolve([{ containerPath: '/v', hostPath: '/h' }]),
      ...more,
    });
  }
  function input(pod: Pod, more: Partial<ContainerSpecInput> = {}): ContainerSpecInput {
    const container = pod.spec.containers[0] as Container;
    return { pod, container, restartCount: 0, imageRef: 'sha256:1', podIps: ['10.0.0.9'], signal: new AbortController().signal, ...more };
  }

  it('builds the sandbox', async () => {
    const { config, runtimeHandler } = await builder().sandbox(podOf(), 1);
    assert.deepEqual([config.linux?.cgroupParent, config.metadata.attempt, runtimeHandler], ['/kubepods/besteffort/podu1', 1, 'runc']);
  });

  it('rejects a sandbox that cannot be described, and an unknown runtime class', async () => {
    await assert.rejects(builder().sandbox(podOf({}, { hostname: 'A_B' }), 0), { code: 'ConfigPodSandboxError' });
    const runtimeHandler = () => {
      throw new Error('runtimeclass "x" not found');
    };
    await assert.rejects(builder({ runtimeHandler }).sandbox(podOf(), 0), { code: 'ConfigPodSandboxError', message: /runtimeclass "x"/ });
  });

  it('builds a container with its volumes, hosts file and termination log', async () => {
    const config = await builder().container(input(podOf()));
    const hosts = join(rootDir, 'pods/u1/etc-hosts');
    const termination = join(rootDir, 'pods/u1/containers/c/abababab');
    assert.deepEqual(config.mounts, [
      { containerPath: '/v', hostPath: '/h' },
      { containerPath: '/etc/hosts', hostPath: hosts, selinuxRelabel: true },
      { containerPath: '/dev/termination-log', hostPath: termination, selinuxRelabel: true },
    ]);
    assert.match(await readFile(hosts, 'utf8'), /10\.0\.0\.9\tp\n$/);
    assert.equal((await stat(hosts)).mode & 0o777, 0o644);
    assert.equal((await stat(termination)).mode & 0o777, 0o666);
    assert.equal(config.linux?.securityContext?.runAsUser, 5);
  });

  it('leaves out files that the container has no use for', async () => {
    const own = podOf({ terminationMessagePath: '', volumeMounts: [{ name: 'h', mountPath: '/etc/hosts' }] });
    assert.equal((await builder().container(input(own))).mounts.length, 1);
  });

  it("gives the node's hosts file in its network", async () => {
    await builder().container(input(podOf({}, { hostNetwork: true }), { podIps: [] }));
    assert.match(await readFile(join(rootDir, 'pods/u1/etc-hosts'), 'utf8'), /^# Kubernetes-managed hosts file \(host network\)\./);
  });

  it('asks for the user by reference, then by name, and does not guess root for an image that is gone', async () => {
    const asked: string[] = [];
    const images = { imageStatus: ({ image: name }: { image: string }) => Promise.resolve(asked.push(name) === 2 ? image : undefined) };
    const config = await builder({ images }).container(input(podOf()));
    assert.deepEqual([asked, config.linux?.securityContext?.runAsUser], [['sha256:1', 'busybox'], 5]);
    const gone = builder({ images: { imageStatus: () => Promise.resolve(undefined) } });
    await assert.rejects(gone.container(input(podOf())), { code: 'CreateContainerConfigError', message: /no longer on the node/ });
  });

  it('rejects with the reason that the container shows', async () => {
    const volumeMounts = () => Promise.reject(new Error('cannot find volume "v"'));
    await assert.rejects(builder({ volumeMounts }).container(input(podOf())), { code: 'CreateContainerConfigError', container: 'c' });
    await assert.rejects(builder().container(input(podOf({ securityContext: { runAsNonRoot: true, runAsUser: 0 } }))), {
      code: 'CreateContainerConfigError',
    });
  });

  it('passes an abort on as such', async () => {
    const control = new AbortController();
    const volumeMounts = () => {
      control.abort(new Error('pod is going away'));
      return Promise.reject(new Error('interrupted'));
    };
    await assert.rejects(builder({ volumeMounts }).container(input(podOf(), { signal: control.signal })), /pod is going away/);
  });

  it('names the log directory', () => {
    assert.equal(builder().containerLogDir(podOf(), 'c'), '/var/log/pods/ns_p_u1/c');
  });
});
