import type { KubeletFlags } from './types.ts';

export interface KubeletFlag {
  name: string;
  key: keyof KubeletFlags;
  type: 'string' | 'bool' | 'int32' | 'duration' | 'labels';
  default: string | boolean | number;
  /** What to use instead; the flag still works. */
  deprecated?: string;
  help: string;
}

const evictionInstead = 'Use --eviction-hard or --eviction-soft instead. Will be removed in a future version.';
const soonGone = 'will be removed in 1.25 or later.';

/** Flags that have no field in the configuration. Contract: flags-config.md §4. Durations are milliseconds. */
export const kubeletFlags: readonly KubeletFlag[] = [
  { name: 'config', key: 'config', type: 'string', default: '', help: 'KubeletConfiguration file' },
  { name: 'config-dir', key: 'configDir', type: 'string', default: '', help: 'Folder of *.conf files merged onto --config, in order' },
  { name: 'kubeconfig', key: 'kubeconfig', type: 'string', default: '', help: 'How to reach the API server; empty runs standalone' },
  {
    name: 'bootstrap-kubeconfig',
    key: 'bootstrapKubeconfig',
    type: 'string',
    default: '',
    help: 'How to get a client certificate while --kubeconfig does not exist',
  },
  { name: 'hostname-override', key: 'hostnameOverride', type: 'string', default: '', help: 'Name of the node instead of the host name' },
  { name: 'node-ip', key: 'nodeIP', type: 'string', default: '', help: 'Address of the node, or an IPv4 and an IPv6 one' },
  { name: 'cert-dir', key: 'certDir', type: 'string', default: '/var/lib/kubelet/pki', help: 'Folder of certificates' },
  { name: 'cloud-provider', key: 'cloudProvider', type: 'string', default: '', help: 'Empty or external' },
  { name: 'root-dir', key: 'rootDir', type: 'string', default: '/var/lib/kubelet', help: "Folder of the kubelet's files" },
  {
    name: 'seccomp-default',
    key: 'seccompDefault',
    type: 'bool',
    default: false,
    help: "Use the runtime's seccomp profile where a pod asks for none",
  },
  { name: 'node-labels', key: 'nodeLabels', type: 'labels', default: '', help: 'Labels of the Node when it is created' },
  { name: 'runtime-cgroups', key: 'runtimeCgroups', type: 'string', default: '', help: 'Cgroup of the container runtime' },
  {
    name: 'image-credential-provider-config',
    key: 'imageCredentialProviderConfig',
    type: 'string',
    default: '',
    help: 'Configuration of credential providers, a file or a folder',
  },
  {
    name: 'image-credential-provider-bin-dir',
    key: 'imageCredentialProviderBinDir',
    type: 'string',
    default: '',
    help: 'Folder of credential provider programs',
  },
  { name: 'lock-file', key: 'lockFile', type: 'string', default: '', help: 'File that only one kubelet holds' },
  {
    name: 'exit-on-lock-contention',
    key: 'exitOnLockContention',
    type: 'bool',
    default: false,
    help: 'Exit when another process opens --lock-file',
  },
  {
    name: 'housekeeping-interval',
    key: 'housekeepingIntervalMs',
    type: 'duration',
    default: 10_000,
    help: 'How often containers are measured',
  },
  {
    name: 'minimum-container-ttl-duration',
    key: 'minimumContainerTTLDurationMs',
    type: 'duration',
    default: 0,
    deprecated: evictionInstead,
    help: 'Age below which a dead container is kept',
  },
  {
    name: 'maximum-dead-containers-per-container',
    key: 'maximumDeadContainersPerContainer',
    type: 'int32',
    default: 1,
    deprecated: evictionInstead,
    help: 'Dead containers kept for each container',
  },
  {
    name: 'maximum-dead-containers',
    key: 'maximumDeadContainers',
    type: 'int32',
    default: -1,
    deprecated: evictionInstead,
    help: 'Dead containers kept in all; negative for no limit',
  },
  {
    name: 'experimental-mounter-path',
    key: 'experimentalMounterPath',
    type: 'string',
    default: '',
    deprecated: `${soonGone} in favor of using CSI.`,
    help: 'Without effect',
  },
  {
    name: 'experimental-allocatable-ignore-eviction',
    key: 'experimentalAllocatableIgnoreEviction',
    type: 'bool',
    default: false,
    deprecated: soonGone,
    help: 'Do not take eviction thresholds off what pods may use',
  },
];

/** Said after "Flag --x has been deprecated, " for every flag that has a configuration field. */
export const configDeprecation =
  "This parameter should be set via the config file specified by the Kubelet's --config flag. See https://kubernetes.io/docs/tasks/administer-cluster/kubelet-config-file/ for more information.";

/**
 * Flags that older kubelets had and that units and tools still pass. They warn and do nothing; `true` says that the
 * flag was a boolean and so takes no separate value.
 */
export const removedFlags: ReadonlyMap<string, boolean> = new Map([
  ...[
    'container-runtime',
    'pod-infra-container-image',
    'docker',
    'docker-endpoint',
    'docker-env-metadata-whitelist',
    'docker-root',
    'docker-tls-ca',
    'docker-tls-cert',
    'docker-tls-key',
    'network-plugin',
    'network-plugin-mtu',
    'cni-bin-dir',
    'cni-cache-dir',
    'cni-conf-dir',
    'iptables-drop-bit',
    'iptables-masquerade-bit',
    'log-backtrace-at',
    'log-dir',
    'log-file',
    'log-file-max-size',
    'stderrthreshold',
    'azure-container-registry-config',
  ].map((name): [string, boolean] => [name, false]),
  ...[
    'docker-only',
    'docker-tls',
    'keep-terminated-pod-volumes',
    'register-schedulable',
    'logtostderr',
    'alsologtostderr',
    'add-dir-header',
    'one-output',
    'skip-headers',
    'skip-log-headers',
  ].map((name): [string, boolean] => [name, true]),
]);

/** Every flag of this table with its effective value, as text. */
export function flagValues(flags: KubeletFlags): ReadonlyMap<string, string> {
  return new Map(
    kubeletFlags.map(({ name, key, type }) => {
      const value = flags[key];
      if (type === 'duration') return [name, `${Number(value) / 1000}s`];
      const pairs =
        typeof value === 'object' && value !== null ? Object.entries(value).map(([label, v]) => `${label}=${String(v)}`) : undefined;
      return [name, pairs?.join(',') ?? String(value)];
    }),
  );
}
