import { PodNameLabel, PodNamespaceLabel, PodUidLabel } from '../api/annotations.ts';
import { allContainers } from '../api/pod.ts';
import type { Pod } from '../api/types.ts';
import { podLogsDirectory } from '../containers/log-paths.ts';
import type { DNSConfig, LinuxSandboxSecurityContext, PodSandboxConfig, PortMapping, UserNamespace } from '../cri/types.ts';
import { ConfigGenerationError } from './config-error.ts';
import { sandboxOverhead, sandboxResources } from './container-resources.ts';
import { kernelHostname, podHostname } from './hostname.ts';
import type { NodeSettings } from './node-settings.ts';
import { portMappings } from './port-mappings.ts';
import { groupsPolicy, podNamespaces, selinuxOptions } from './security-context.ts';
import { normalizeSysctl } from './sysctls.ts';

export interface SandboxConfigInput {
  pod: Pod;
  attempt: number;
  /** PodCgroups.parentFor(pod). */
  cgroupParent: string;
  /** Directory of all pods' logs. */
  podLogsDir: string;
  dns: DNSConfig;
  clusterDomain: string;
  node: NodeSettings;
  /** Groups that the pod's volumes bring. */
  volumeGroups?: readonly number[];
  userns?: UserNamespace | undefined;
  exclusiveCpus?: boolean;
}

/** IPC sysctls that a pod of its own IPC namespace may be given by default, beside fs.mqueue.*. */
const IpcSysctls = new Set([
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
  'kernel.sem',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
]);

/** Everything the runtime is told about a pod's sandbox. Throws ConfigGenerationError. Source: contract pod-lifecycle.md §13. */
export function sandboxConfig(input: SandboxConfigInput): PodSandboxConfig {
  const { pod, node } = input;
  const { name, namespace, uid, labels, annotations } = pod.metadata;
  const hostname = pod.spec.hostNetwork === true ? undefined : hostnameOf(pod, input.clusterDomain);
  return {
    metadata: { name, namespace, uid, attempt: input.attempt },
    ...(hostname === undefined ? {} : { hostname }),
    logDirectory: podLogsDirectory(input.podLogsDir, { namespace, name, uid }),
    dnsConfig: input.dns,
    portMappings: pod.spec.containers.flatMap((container) => portMappings(container).mappings.map(toCriPort)),
    labels: { ...labels, [PodNameLabel]: name, [PodNamespaceLabel]: namespace, [PodUidLabel]: uid },
    annotations: { ...annotations },
    linux: {
      cgroupParent: input.cgroupParent,
      sysctls: { ...defaultSysctls(pod, node.defaultPodSysctls ?? {}), ...ownSysctls(pod) },
      securityContext: securityContext(input),
      resources: sandboxResources(pod, node, input.exclusiveCpus === true),
      overhead: sandboxOverhead(pod, node),
    },
  };
}

function hostnameOf(pod: Pod, clusterDomain: string): string {
  return kernelHostname(podHostname(pod, clusterDomain), pod.spec.setHostnameAsFQDN);
}

function securityContext({ pod, volumeGroups = [], userns }: SandboxConfigInput): LinuxSandboxSecurityContext {
  // A pod without a security context counts as one with an empty one: API defaulting makes it so.
  const { runAsUser, runAsGroup, fsGroup, supplementalGroups, seLinuxOptions } = pod.spec.securityContext ?? {};
  const selinux = selinuxOptions(seLinuxOptions);
  const policy = groupsPolicy(pod);
  const isSet = (value: number | null | undefined): value is number => value !== undefined && value !== null;
  return {
    privileged: [...allContainers(pod)].some(({ container }) => container.securityContext?.privileged === true),
    seccomp: { profileType: 'RuntimeDefault' },
    namespaceOptions: podNamespaces(pod, userns),
    supplementalGroups: [...(isSet(fsGroup) ? [fsGroup] : []), ...volumeGroups, ...(supplementalGroups ?? [])],
    ...(isSet(runAsUser) ? { runAsUser } : {}),
    ...(isSet(runAsGroup) ? { runAsGroup } : {}),
    ...(selinux === undefined ? {} : { selinuxOptions: selinux }),
    ...(policy === undefined ? {} : { supplementalGroupsPolicy: policy }),
  };
}

function toCriPort({ protocol, containerPort, hostPort, hostIP }: ReturnType<typeof portMappings>['mappings'][number]): PortMapping {
  const name = protocol === '' ? 'TCP' : protocol;
  if (name !== 'TCP' && name !== 'UDP' && name !== 'SCTP') {
    throw new ConfigGenerationError(`port ${containerPort}: protocol ${JSON.stringify(protocol)} is none of TCP, UDP, SCTP`);
  }
  return { protocol: name, containerPort, hostPort, hostIp: hostIP };
}

function ownSysctls(pod: Pod): Record<string, string> {
  return Object.fromEntries((pod.spec.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value]));
}

/** The node's default sysctls, as far as the pod has the namespace for itself that they belong to. */
function defaultSysctls(pod: Pod, defaults: Readonly<Record<string, string>>): Record<string, string> {
  const { hostIPC, hostNetwork, hostUsers } = pod.spec;
  const applies = (name: string) => {
    if (IpcSysctls.has(name) || name.startsWith('fs.mqueue.')) return hostIPC !== true;
    if (name.startsWith('net.')) return hostNetwork !== true;
    if (name.startsWith('user.')) return hostUsers === false;
    return name === 'kernel.domainname' && hostNetwork !== true;
  };
  const normalized = Object.entries(defaults).map(([name, value]) => [normalizeSysctl(name), value] as const);
  return Object.fromEntries(normalized.filter(([name]) => applies(name)));
}
