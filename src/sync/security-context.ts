import type { Container, Pod, SELinuxOptions, SecurityContext } from '../api/types.ts';
import type {
  LinuxContainerSecurityContext,
  NamespaceOption,
  SELinuxOption,
  SupplementalGroupsPolicy,
  UserNamespace,
} from '../cri/types.ts';
import { ConfigGenerationError } from './config-error.ts';
import type { SeccompSettings } from './security-profiles.ts';
import { apparmorProfile, seccompProfile } from './security-profiles.ts';

/** Paths that are hidden, and made read-only, unless procMount is Unmasked (contract pod-lifecycle.md §13). */
const MaskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const ReadonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
const MaxUserId = 2 ** 31 - 1;

/** The user an image asks for: a number, or a name that only the runtime can resolve. */
export interface ImageUser {
  uid?: number;
  username?: string;
}

/**
 * What the image says of its user, with root filled in when it says nothing. Throws for an image that is gone: its
 * container must not become root for that.
 */
export function imageUser(image: { uid?: number; username: string } | undefined): ImageUser {
  if (image === undefined) throw new Error('the image is no longer on the node, so its user is not known');
  if (image.uid !== undefined) return { uid: image.uid };
  return image.username === '' ? { uid: 0 } : { username: image.username };
}

/** The security settings that hold for a container: its own fields over the pod's. */
export function effectiveSecurityContext(pod: Pod, container: Container): SecurityContext {
  const { seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot } = pod.spec.securityContext ?? {};
  return { ...present({ seLinuxOptions, runAsUser, runAsGroup, runAsNonRoot }), ...present(container.securityContext ?? {}) };
}

/**
 * Enforces runAsNonRoot against the container's user or, without one, the image's. Called on every create: an image
 * that was fine once may have been replaced under its tag (CVE-2019-11245). Throws ConfigGenerationError.
 */
export function verifyRunAsNonRoot(pod: Pod, container: Container, user: ImageUser): void {
  const { runAsNonRoot, runAsUser } = effectiveSecurityContext(pod, container);
  if (runAsNonRoot !== true) return;
  const { name, namespace, uid: podUid } = pod.metadata;
  const refuse = (why: string) => {
    throw new ConfigGenerationError(`${why} (pod: "${name}_${namespace}(${podUid})", container: ${container.name})`, container.name);
  };
  if (runAsUser !== undefined) {
    if (runAsUser === 0) refuse("container's runAsUser breaks non-root policy");
  } else if (user.uid !== undefined) {
    if (user.uid === 0) refuse('container has runAsNonRoot and image will run as root');
    if (user.uid < 0 || user.uid > MaxUserId) refuse(`container has runAsNonRoot and image has an invalid user id (${user.uid})`);
  } else if (user.username !== undefined && user.username !== '') {
    refuse(`container has runAsNonRoot and image has non-numeric user (${user.username}), cannot verify user is non-root`);
  } else {
    refuse('container has runAsNonRoot and image will run as root');
  }
}

export interface ContainerSecurityInput {
  pod: Pod;
  container: Container;
  user: ImageUser;
  seccomp: SeccompSettings;
  /** More paths to hide: those of the machine (Machine.thermalThrottlePaths). */
  extraMaskedPaths: readonly string[];
  /** Groups that the pod's volumes bring. */
  volumeGroups: readonly number[];
  userns?: UserNamespace | undefined;
  /** Whose process namespace an ephemeral container joins. */
  targetId?: string | undefined;
}

/** The security part of a container's config, checked with verifyRunAsNonRoot first. Throws ConfigGenerationError. */
export function containerSecurityContext(input: ContainerSecurityInput): LinuxContainerSecurityContext {
  const { pod, container, user } = input;
  verifyRunAsNonRoot(pod, container, user);
  const effective = effectiveSecurityContext(pod, container);
  const podSecurity = pod.spec.securityContext ?? {};
  const unmasked = effective.procMount === 'Unmasked';
  const groups = [...optional(podSecurity.fsGroup), ...(podSecurity.supplementalGroups ?? []), ...input.volumeGroups];
  return present({
    capabilities: capabilities(effective.capabilities),
    privileged: effective.privileged === true,
    namespaceOptions: containerNamespaces(pod, input.userns, input.targetId),
    selinuxOptions: selinuxOptions(effective.seLinuxOptions),
    ...containerUser(effective.runAsUser, user),
    runAsGroup: effective.runAsGroup,
    readonlyRootfs: effective.readOnlyRootFilesystem === true,
    supplementalGroups: groups,
    supplementalGroupsPolicy: groupsPolicy(pod, container.name),
    noNewPrivs: effective.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : [...MaskedPaths, ...input.extraMaskedPaths],
    readonlyPaths: unmasked ? [] : [...ReadonlyPaths],
    seccomp: seccompProfile(pod, container, input.seccomp),
    ...apparmorProfile(pod, container),
  }) as LinuxContainerSecurityContext;
}

/** Namespaces of the pod. `userns` is undefined where the node knows no user namespaces. */
export function podNamespaces(pod: Pod, userns: UserNamespace | undefined): NamespaceOption {
  const { hostNetwork, hostPID, hostIPC, hostUsers, shareProcessNamespace } = pod.spec;
  if (hostUsers === false && userns === undefined) {
    throw new ConfigGenerationError('spec.hostUsers is false, but this node has no user namespaces to give');
  }
  return {
    network: hostNetwork === true ? 'NODE' : 'POD',
    ipc: hostIPC === true ? 'NODE' : 'POD',
    pid: hostPID === true ? 'NODE' : shareProcessNamespace === true ? 'POD' : 'CONTAINER',
    ...(userns === undefined ? {} : { usernsOptions: userns }),
  };
}

/** The pod's policy for the groups of an image. Throws ConfigGenerationError for one the CRI has no word for. */
export function groupsPolicy(pod: Pod, container?: string): SupplementalGroupsPolicy | undefined {
  const policy: unknown = pod.spec.securityContext?.supplementalGroupsPolicy;
  if (policy === undefined || policy === null) return undefined;
  if (policy === 'Merge' || policy === 'Strict') return policy;
  throw new ConfigGenerationError(`supplementalGroupsPolicy ${JSON.stringify(policy)} is neither Merge nor Strict`, container);
}

export function selinuxOptions(options: SELinuxOptions | undefined | null): SELinuxOption | undefined {
  if (options === undefined || options === null) return undefined;
  return { user: options.user ?? '', role: options.role ?? '', type: options.type ?? '', level: options.level ?? '' };
}

function containerNamespaces(pod: Pod, userns: UserNamespace | undefined, targetId: string | undefined): NamespaceOption {
  const options = podNamespaces(pod, userns);
  return targetId !== undefined && options.pid === 'CONTAINER' ? { ...options, pid: 'TARGET', targetId } : options;
}

function containerUser(runAsUser: number | undefined, user: ImageUser) {
  if (runAsUser !== undefined) return { runAsUser };
  return { runAsUser: user.uid, ...(user.username === undefined || user.username === '' ? {} : { runAsUsername: user.username }) };
}

function capabilities(caps: SecurityContext['capabilities']) {
  if (caps === undefined || caps === null) return undefined;
  return { addCapabilities: caps.add ?? [], dropCapabilities: caps.drop ?? [] };
}

function optional(value: number | undefined | null): number[] {
  return value === undefined || value === null ? [] : [value];
}

/** Without the keys whose value is undefined or null: a null in a manifest means "not set". */
function present<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined | null> } {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined && v !== null)) as {
    [K in keyof T]?: Exclude<T[K], undefined | null>;
  };
}
