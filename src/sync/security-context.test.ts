import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container, Pod, PodSpec, SecurityContext } from '../api/types.ts';
import type { ContainerSecurityInput, ImageUser } from './security-context.ts';
import { containerSecurityContext, imageUser, podNamespaces } from './security-context.ts';

function input(security: SecurityContext, spec: Partial<PodSpec> = {}, more: Partial<ContainerSecurityInput> = {}): ContainerSecurityInput {
  const container: Container = { name: 'c', image: 'i', securityContext: security };
  const pod: Pod = { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [container], ...spec } };
  return {
    pod,
    container,
    user: { uid: 0 },
    seccomp: { seccompDefault: false, seccompProfileRoot: '/var/lib/kubelet/seccomp' },
    extraMaskedPaths: [],
    volumeGroups: [],
    ...more,
  };
}
const context = (...args: Parameters<typeof input>) => containerSecurityContext(input(...args));
const refusal = { code: 'CreateContainerConfigError', container: 'c' };

describe('containerSecurityContext', () => {
  it('gives a plain container what the runtime needs and nothing more', () => {
    const got = context({});
    assert.deepEqual(
      { ...got, maskedPaths: got.maskedPaths?.length, readonlyPaths: got.readonlyPaths },
      {
        privileged: false,
        namespaceOptions: { network: 'POD', ipc: 'POD', pid: 'CONTAINER' },
        runAsUser: 0,
        readonlyRootfs: false,
        supplementalGroups: [],
        noNewPrivs: false,
        maskedPaths: 12,
        readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
        seccomp: { profileType: 'Unconfined' },
      },
    );
  });

  it('puts the container over the pod, null and missing alike', () => {
    const pod = { securityContext: { runAsUser: 1, runAsGroup: 2, runAsNonRoot: true, seLinuxOptions: { level: 's0' } } };
    const got = context(
      { runAsUser: 7, runAsGroup: null as unknown as number, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
      pod,
    );
    assert.deepEqual([got.runAsUser, got.runAsGroup, got.readonlyRootfs, got.noNewPrivs], [7, 2, true, true]);
    assert.deepEqual(got.selinuxOptions, { user: '', role: '', type: '', level: 's0' });
  });

  it('orders groups: fsGroup, the list, volumes', () => {
    const pod: Partial<PodSpec> = { securityContext: { fsGroup: 10, supplementalGroups: [30, 20], supplementalGroupsPolicy: 'Strict' } };
    const got = context({}, pod, { volumeGroups: [40] });
    assert.deepEqual(got.supplementalGroups, [10, 30, 20, 40]);
    assert.equal(got.supplementalGroupsPolicy, 'Strict');
  });

  it('passes capabilities and the name of an image user', () => {
    const got = context({ capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] }, privileged: true }, {}, { user: { username: 'www' } });
    assert.deepEqual(got.capabilities, { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] });
    assert.deepEqual([got.privileged, got.runAsUser, got.runAsUsername], [true, undefined, 'www']);
  });

  it('unmasks /proc only when asked, and hides what the machine adds', () => {
    const unmasked = context({ procMount: 'Unmasked' });
    assert.deepEqual([unmasked.maskedPaths, unmasked.readonlyPaths], [[], []]);
    assert.equal(context({}, {}, { extraMaskedPaths: ['/sys/x'] }).maskedPaths?.at(-1), '/sys/x');
  });

  it('joins the process namespace of a target', () => {
    assert.deepEqual(context({}, {}, { targetId: 'abc' }).namespaceOptions, { network: 'POD', ipc: 'POD', pid: 'TARGET', targetId: 'abc' });
    assert.equal(context({}, { shareProcessNamespace: true }, { targetId: 'abc' }).namespaceOptions?.pid, 'POD');
  });
});

describe('runAsNonRoot', () => {
  const check = (security: SecurityContext, user: ImageUser, pod: Partial<PodSpec> = {}) =>
    context({ runAsNonRoot: true, ...security }, pod, { user });
  it('accepts a user that is not root', () => {
    assert.equal(check({}, { uid: 1000 }).runAsUser, 1000);
    assert.equal(check({ runAsUser: 5 }, { uid: 0 }).runAsUser, 5);
    assert.equal(check({ runAsNonRoot: false }, { uid: 0 }, { securityContext: { runAsNonRoot: true } }).runAsUser, 0);
  });
  it('refuses root, whoever says so', () => {
    assert.throws(() => check({}, { uid: 0 }), { ...refusal, message: /^container has runAsNonRoot and image will run as root/ });
    assert.throws(() => check({}, {}), { ...refusal, message: /^container has runAsNonRoot and image will run as root/ });
    assert.throws(() => check({ runAsUser: 0 }, { uid: 5 }), { ...refusal, message: /^container's runAsUser breaks non-root policy/ });
    const fromPod = { securityContext: { runAsNonRoot: true } };
    assert.throws(() => context({}, fromPod), refusal);
  });
  it('refuses a user whose number is not known or not valid', () => {
    assert.throws(() => check({}, { username: 'www' }), {
      ...refusal,
      message: /non-numeric user \(www\), cannot verify user is non-root/,
    });
    assert.throws(() => check({}, { uid: 2 ** 31 }), { ...refusal, message: /invalid user id/ });
    assert.throws(() => check({}, { uid: -1 }), { ...refusal, message: /invalid user id/ });
  });
});

describe('imageUser', () => {
  it('is root when the image names none', () => {
    assert.deepEqual(imageUser({ username: '' }), { uid: 0 });
    assert.throws(() => imageUser(undefined), /no longer on the node/);
    assert.deepEqual(imageUser({ uid: 0, username: 'x' }), { uid: 0 });
    assert.deepEqual(imageUser({ username: 'x' }), { username: 'x' });
  });
});

describe('seccomp', () => {
  const local = (localhostProfile?: string) =>
    context({ seccompProfile: { type: 'Localhost', ...(localhostProfile === undefined ? {} : { localhostProfile }) } });
  it('is the container, then the pod, then the default of the node', () => {
    const seccomp = { seccompDefault: true, seccompProfileRoot: '/s' };
    assert.equal(context({}, {}, { seccomp }).seccomp?.profileType, 'RuntimeDefault');
    const pod = { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } };
    assert.equal(context({}, pod).seccomp?.profileType, 'RuntimeDefault');
    assert.equal(context({ seccompProfile: { type: 'Unconfined' } }, pod, { seccomp }).seccomp?.profileType, 'Unconfined');
  });
  it('finds a profile of the node', () => {
    assert.deepEqual(local('a/b.json').seccomp, { profileType: 'Localhost', localhostRef: '/var/lib/kubelet/seccomp/a/b.json' });
  });
  for (const name of [undefined, '', '/etc/passwd', '..', '../x', 'a/../../x', '.', 'a\0']) {
    it(`refuses the profile ${JSON.stringify(name)} instead of running unconfined`, () => assert.throws(() => local(name), refusal));
  }
  it('refuses an unknown type', () => assert.throws(() => context({ seccompProfile: { type: 'unconfined' } }), refusal));
});

describe('AppArmor', () => {
  it('is given in both forms', () => {
    const got = context({ appArmorProfile: { type: 'Localhost', localhostProfile: 'p' } });
    assert.deepEqual([got.apparmor, got.apparmorProfile], [{ profileType: 'Localhost', localhostRef: 'p' }, 'localhost/p']);
    assert.equal(context({ appArmorProfile: { type: 'RuntimeDefault' } }).apparmorProfile, 'runtime/default');
    assert.deepEqual([context({}).apparmor, context({}).apparmorProfile], [undefined, undefined]);
  });
  it('reads the older annotation before the pod', () => {
    const with_ = input({}, { securityContext: { appArmorProfile: { type: 'Unconfined' } } });
    const annotations = { 'container.apparmor.security.beta.kubernetes.io/c': 'localhost/old' };
    const pod = { ...with_.pod, metadata: { ...with_.pod.metadata, annotations } };
    assert.equal(containerSecurityContext({ ...with_, pod }).apparmorProfile, 'localhost/old');
    assert.equal(containerSecurityContext(with_).apparmorProfile, 'unconfined');
  });
  it('refuses a profile without a name', () => assert.throws(() => context({ appArmorProfile: { type: 'Localhost' } }), refusal));
});

describe('podNamespaces', () => {
  const of = (spec: Partial<PodSpec>) => podNamespaces(input({}, spec).pod, undefined);
  it('follows the pod', () => {
    assert.deepEqual(of({ hostNetwork: true, hostPID: true, hostIPC: true }), { network: 'NODE', ipc: 'NODE', pid: 'NODE' });
    assert.equal(of({ shareProcessNamespace: true }).pid, 'POD');
  });
  it('hands on the user namespace, and refuses one that the node cannot give', () => {
    assert.throws(() => of({ hostUsers: false }), /no user namespaces/);
    const userns = { mode: 'POD' as const, uids: [], gids: [] };
    assert.deepEqual(podNamespaces(input({}, { hostUsers: false }).pod, userns).usernsOptions, userns);
    // Told for every pod where the node has them: NODE for those in the host's.
    assert.equal(podNamespaces(input({}).pod, { mode: 'NODE', uids: [], gids: [] }).usernsOptions?.mode, 'NODE');
  });
});
