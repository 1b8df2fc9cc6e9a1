import {
  bool,
  duration,
  durationOrNanos,
  type FieldType,
  float,
  int32,
  int64,
  list,
  map,
  quantity,
  string,
  struct,
  time,
  uint32,
} from './field-types.ts';

/** How a flag's text becomes the field's value. */
export type FlagForm =
  | 'value'
  /** An IP address. */
  | 'ip'
  /** `a,b,c`, several times: together. */
  | 'list'
  /** `k=v,k=v` */
  | 'pairs'
  /** One `k=v` for each time the flag is given; commas belong to the value. */
  | 'onePair'
  /** `k<v,k<v` */
  | 'thresholds'
  /** `k=true,k=false` */
  | 'gates'
  /** `name:value,name:value` */
  | 'headers'
  /** `key=value:effect,...` */
  | 'taints'
  /** `0:memory=1Gi,hugepages-2Mi=4Mi;1:...` */
  | 'reservedMemory'
  /** `pattern=N,...` */
  | 'vmodule';

export interface FieldFlag {
  name: string;
  /** Default `value`. */
  form?: FlagForm;
  /** One letter. */
  short?: string;
  /** The few flags that are not deprecated in favour of the configuration file. */
  kept?: true;
}

export interface Field {
  /** As in `authentication.webhook.cacheTTL`. */
  path: string;
  type: FieldType;
  /** The v1beta1 default in JSON form. Some depend on other fields: defaults.ts. */
  default?: unknown;
  /** What stands instead of the default when neither --config nor a drop-in is given. */
  legacyDefault?: unknown;
  /** A pointer in Go: zero is a value and not "unset". */
  pointer?: true;
  /** Never shown or logged. */
  masked?: true;
  /** A relative path in the main file counts from that file's folder. */
  relativePath?: true;
  flag?: FieldFlag;
  /** Values that exist, when they are a closed set. */
  choices?: readonly string[];
  help: string;
}

type Options = Omit<Field, 'path' | 'type' | 'help' | 'flag'> & { flag?: string | FieldFlag };

function field(path: string, type: FieldType, options: Options, help: string): Field {
  const { flag, ...rest } = options;
  if (flag === undefined) return { path, type, ...rest, help };
  return { path, type, ...rest, flag: typeof flag === 'string' ? { name: flag } : flag, help };
}

const stringMap = map(string);
const pairs = (name: string): FieldFlag => ({ name, form: 'pairs' });
const thresholds = (name: string): FieldFlag => ({ name, form: 'thresholds' });
const listFlag = (name: string): FieldFlag => ({ name, form: 'list' });
const kept = (name: string): FieldFlag => ({ name, kept: true });
const pointer = { pointer: true } as const;

const taint = struct({
  key: { type: string, always: true },
  value: { type: string },
  effect: { type: string, always: true },
  timeAdded: { type: time, pointer: true },
});
const memoryReservation = struct({ numaNode: { type: int32, always: true }, limits: { type: map(quantity), always: true } });
const shutdownByPriority = struct({
  priority: { type: int32, always: true },
  shutdownGracePeriodSeconds: { type: int64, always: true },
});
const vmoduleItem = struct({ filePattern: { type: string, always: true }, verbosity: { type: uint32, always: true } });
const tracing = struct({ endpoint: { type: string, pointer: true }, samplingRatePerMillion: { type: int32, pointer: true } });
const userNamespaces = struct({ idsPerPod: { type: int64, pointer: true } });

/**
 * Every field of KubeletConfiguration v1beta1, once. Parsing, defaults, flags, `config show`, `--help` and the
 * documentation all read this table. Contract: flags-config.md §3 and §5.
 */
export const fields: readonly Field[] = [
  // Sources of pods
  field('staticPodPath', string, { flag: 'pod-manifest-path', relativePath: true }, 'File or folder of static pods'),
  field('staticPodURL', string, { flag: 'manifest-url' }, 'URL of static pods'),
  field(
    'staticPodURLHeader',
    map(list(string)),
    { flag: { name: 'manifest-url-header', form: 'headers' }, masked: true },
    'Headers sent to the URL of static pods',
  ),
  field('syncFrequency', duration, { default: '1m0s', flag: 'sync-frequency' }, 'Longest time between two syncs of a pod'),
  field('fileCheckFrequency', duration, { default: '20s', flag: 'file-check-frequency' }, 'How often static pod files are read again'),
  field('httpCheckFrequency', duration, { default: '20s', flag: 'http-check-frequency' }, 'How often the URL of static pods is read again'),

  // Server
  field('enableServer', bool, { ...pointer, default: true, flag: 'enable-server' }, 'Serve the kubelet API'),
  field('address', string, { default: '0.0.0.0', flag: { name: 'address', form: 'ip' } }, 'Address to serve on'),
  field('port', int32, { default: 10250, flag: 'port' }, 'Port of the kubelet API'),
  field('readOnlyPort', int32, { legacyDefault: 10255, flag: 'read-only-port' }, 'Port without authentication; 0 is off'),
  field('healthzPort', int32, { ...pointer, default: 10248, flag: 'healthz-port' }, 'Port of /healthz; 0 is off'),
  field('healthzBindAddress', string, { default: '127.0.0.1', flag: { name: 'healthz-bind-address', form: 'ip' } }, 'Address of /healthz'),
  field(
    'streamingConnectionIdleTimeout',
    duration,
    { default: '4h0m0s', flag: 'streaming-connection-idle-timeout' },
    'Idle time after which a stream is closed',
  ),
  field(
    'enableDebuggingHandlers',
    bool,
    { ...pointer, default: true, flag: 'enable-debugging-handlers' },
    'Serve logs, exec, attach and the like',
  ),
  field('enableContentionProfiling', bool, { flag: 'contention-profiling' }, 'Profile lock contention'),
  field('enableProfilingHandler', bool, { ...pointer, default: true }, 'Serve profiles'),
  field('enableDebugFlagsHandler', bool, { ...pointer, default: true }, 'Serve the log level endpoint'),
  field('enableSystemLogHandler', bool, { ...pointer, default: true }, 'Serve /logs/'),
  field('enableSystemLogQuery', bool, { ...pointer, default: false }, 'Serve queries of system logs'),

  // TLS and access
  field('tlsCertFile', string, { flag: 'tls-cert-file', relativePath: true }, 'Serving certificate'),
  field('tlsPrivateKeyFile', string, { flag: 'tls-private-key-file', relativePath: true }, 'Key of the serving certificate'),
  field('tlsCipherSuites', list(string), { flag: listFlag('tls-cipher-suites') }, 'TLS cipher suites of the server'),
  field('tlsCurvePreferences', list(int32), {}, 'TLS curves of the server, by number'),
  field(
    'tlsMinVersion',
    string,
    { flag: 'tls-min-version', choices: ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'] },
    'Lowest TLS version of the server',
  ),
  field('rotateCertificates', bool, { flag: 'rotate-certificates' }, 'Renew the client certificate'),
  field('serverTLSBootstrap', bool, { flag: 'rotate-server-certificates' }, 'Get the serving certificate from the API server'),
  field(
    'authentication.x509.clientCAFile',
    string,
    { flag: 'client-ca-file', relativePath: true },
    'Certificate authorities of client certificates',
  ),
  field(
    'authentication.webhook.enabled',
    bool,
    { ...pointer, default: true, legacyDefault: false, flag: 'authentication-token-webhook' },
    'Check bearer tokens with the API server',
  ),
  field(
    'authentication.webhook.cacheTTL',
    duration,
    { default: '2m0s', flag: 'authentication-token-webhook-cache-ttl' },
    'How long a checked token is remembered',
  ),
  field(
    'authentication.anonymous.enabled',
    bool,
    { ...pointer, default: false, legacyDefault: true, flag: 'anonymous-auth' },
    'Accept requests without credentials',
  ),
  field(
    'authorization.mode',
    string,
    { default: 'Webhook', legacyDefault: 'AlwaysAllow', flag: 'authorization-mode', choices: ['AlwaysAllow', 'Webhook'] },
    'Who may do what on the kubelet API',
  ),
  field(
    'authorization.webhook.cacheAuthorizedTTL',
    duration,
    { default: '5m0s', flag: 'authorization-webhook-cache-authorized-ttl' },
    'How long a permission is remembered',
  ),
  field(
    'authorization.webhook.cacheUnauthorizedTTL',
    duration,
    { default: '30s', flag: 'authorization-webhook-cache-unauthorized-ttl' },
    'How long a refusal is remembered',
  ),

  // API server
  field('registerNode', bool, { ...pointer, default: true, flag: 'register-node' }, 'Create the Node object'),
  field(
    'registerWithTaints',
    list(taint),
    { flag: { name: 'register-with-taints', form: 'taints' } },
    'Taints of the Node when it is created',
  ),
  field('providerID', string, { flag: kept('provider-id') }, "The node's name at its cloud provider"),
  field(
    'nodeStatusUpdateFrequency',
    duration,
    { default: '10s', flag: 'node-status-update-frequency' },
    'How often the status is computed',
  ),
  field('nodeStatusReportFrequency', duration, { default: '5m0s' }, 'How often an unchanged status is sent'),
  field('nodeLeaseDurationSeconds', int32, { default: 40 }, 'Duration of the node lease'),
  field(
    'nodeStatusMaxImages',
    int32,
    { ...pointer, default: 50, flag: 'node-status-max-images' },
    'Images listed in the status; -1 for all',
  ),
  field(
    'contentType',
    string,
    { default: 'application/vnd.kubernetes.protobuf', flag: 'kube-api-content-type' },
    'Content type of requests to the API server',
  ),
  field('kubeAPIQPS', int32, { ...pointer, default: 50, flag: 'kube-api-qps' }, 'Requests a second to the API server'),
  field('kubeAPIBurst', int32, { default: 100, flag: 'kube-api-burst' }, 'Requests at once to the API server'),
  field('eventRecordQPS', int32, { ...pointer, default: 50, flag: 'event-qps' }, 'Events a second; 0 for no limit'),
  field('eventBurst', int32, { default: 100, flag: 'event-burst' }, 'Events at once'),
  field(
    'configMapAndSecretChangeDetectionStrategy',
    string,
    { default: 'Watch', choices: ['Get', 'Cache', 'Watch'] },
    'How changes of ConfigMaps and Secrets are noticed',
  ),
  field(
    'enableControllerAttachDetach',
    bool,
    { ...pointer, default: true, flag: 'enable-controller-attach-detach' },
    'Volumes are attached by the controller',
  ),

  // Runtime and images
  field(
    'containerRuntimeEndpoint',
    string,
    { default: 'unix:///run/containerd/containerd.sock', flag: 'container-runtime-endpoint' },
    'Socket of the container runtime',
  ),
  field('imageServiceEndpoint', string, { flag: 'image-service-endpoint' }, 'Socket of the image service; empty for the same'),
  field('runtimeRequestTimeout', duration, { default: '2m0s', flag: 'runtime-request-timeout' }, 'Deadline of runtime calls'),
  field('registryPullQPS', int32, { ...pointer, default: 5, flag: 'registry-qps' }, 'Image pulls a second; 0 for no limit'),
  field('registryBurst', int32, { default: 10, flag: 'registry-burst' }, 'Image pulls at once'),
  field('serializeImagePulls', bool, { ...pointer, default: true, flag: 'serialize-image-pulls' }, 'Pull one image at a time'),
  field('maxParallelImagePulls', int32, { ...pointer }, 'Most image pulls side by side'),
  field(
    'imagePullCredentialsVerificationPolicy',
    string,
    {
      default: 'NeverVerifyPreloadedImages',
      choices: ['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'],
    },
    'When a pod must show its right to an image that is present',
  ),
  field('preloadedImagesVerificationAllowlist', list(string), {}, 'Images that need no right to be shown'),
  field('imageMinimumGCAge', duration, { default: '2m0s', flag: 'minimum-image-ttl-duration' }, 'Age below which an image is kept'),
  field('imageMaximumGCAge', duration, { default: '0s' }, 'Age at which an unused image goes; 0 is off'),
  field(
    'imageGCHighThresholdPercent',
    int32,
    { ...pointer, default: 85, flag: 'image-gc-high-threshold' },
    'Disk usage at which images are removed',
  ),
  field(
    'imageGCLowThresholdPercent',
    int32,
    { ...pointer, default: 80, flag: 'image-gc-low-threshold' },
    'Disk usage to which images are removed',
  ),

  // Pods
  field('podLogsDir', string, { default: '/var/log/pods', relativePath: true }, 'Folder of container logs'),
  field('maxPods', int32, { default: 110, flag: 'max-pods' }, 'Most pods of the node'),
  field('podsPerCore', int32, { flag: 'pods-per-core' }, 'Most pods for each core; 0 for no limit'),
  field('podPidsLimit', int64, { ...pointer, default: -1, flag: 'pod-max-pids' }, 'Most processes of a pod'),
  field('podCIDR', string, { flag: 'pod-cidr' }, 'Addresses of pods, standalone only'),
  field('clusterDomain', string, { flag: 'cluster-domain' }, "The cluster's DNS domain"),
  field('clusterDNS', list(string), { flag: listFlag('cluster-dns') }, "The cluster's DNS servers"),
  field(
    'resolvConf',
    string,
    { ...pointer, default: '/etc/resolv.conf', flag: 'resolv-conf', relativePath: true },
    'DNS configuration of the host',
  ),
  field(
    'hairpinMode',
    string,
    { default: 'promiscuous-bridge', flag: 'hairpin-mode', choices: ['promiscuous-bridge', 'hairpin-veth', 'none'] },
    'How a pod reaches itself by its Service',
  ),
  field('seccompDefault', bool, { ...pointer, default: false }, "Use the runtime's seccomp profile where a pod asks for none"),
  field(
    'allowedUnsafeSysctls',
    list(string),
    { flag: listFlag('allowed-unsafe-sysctls') },
    'Sysctls that pods may set besides the safe ones',
  ),
  field('defaultPodSysctls', stringMap, {}, 'Sysctls of pods that do not set them'),
  field(
    'crashLoopBackOff.maxContainerRestartPeriod',
    duration,
    { ...pointer, default: '5m0s' },
    'Longest back-off between two starts of a container',
  ),
  field('userNamespaces', userNamespaces, { ...pointer }, 'User namespaces of pods'),
  field('containerLogMaxSize', string, { default: '10Mi', flag: 'container-log-max-size' }, 'Size at which a log is rotated'),
  field('containerLogMaxFiles', int32, { ...pointer, default: 5, flag: 'container-log-max-files' }, 'Log files kept for a container'),
  field('containerLogMaxWorkers', int32, { ...pointer, default: 1 }, 'Log rotations side by side'),
  field('containerLogMonitorInterval', duration, { ...pointer, default: '10s' }, 'How often logs are measured'),
  field('runOnce', bool, { flag: 'runonce' }, 'No longer supported'),

  // Resources
  field('cgroupRoot', string, { flag: 'cgroup-root' }, 'Cgroup above all pods'),
  field('cgroupsPerQOS', bool, { ...pointer, default: true, flag: 'cgroups-per-qos' }, 'One cgroup for each QoS class and pod'),
  field('cgroupDriver', string, { default: 'cgroupfs', flag: 'cgroup-driver', choices: ['cgroupfs', 'systemd'] }, 'Who writes cgroups'),
  field('kubeletCgroups', string, { flag: 'kubelet-cgroups' }, 'Cgroup of the kubelet'),
  field('systemCgroups', string, { flag: 'system-cgroups' }, 'Cgroup of system processes'),
  field('systemReserved', stringMap, { flag: pairs('system-reserved') }, 'Resources kept for the system'),
  field('kubeReserved', stringMap, { flag: pairs('kube-reserved') }, 'Resources kept for Kubernetes'),
  field('systemReservedCgroup', string, { flag: 'system-reserved-cgroup' }, 'Cgroup that systemReserved limits'),
  field('kubeReservedCgroup', string, { flag: 'kube-reserved-cgroup' }, 'Cgroup that kubeReserved limits'),
  field('reservedSystemCPUs', string, { flag: 'reserved-cpus' }, 'CPUs that pods never get'),
  field(
    'reservedMemory',
    list(memoryReservation),
    { flag: { name: 'reserved-memory', form: 'reservedMemory' } },
    'Memory kept on each NUMA node',
  ),
  field(
    'enforceNodeAllocatable',
    list(string),
    { default: ['pods'], flag: listFlag('enforce-node-allocatable') },
    'Which of the reservations are enforced',
  ),
  field('cpuManagerPolicy', string, { default: 'none', flag: 'cpu-manager-policy', choices: ['none', 'static'] }, 'How CPUs are given out'),
  field(
    'cpuManagerPolicyOptions',
    stringMap,
    { flag: { name: 'cpu-manager-policy-options', form: 'onePair' } },
    'Options of the CPU manager policy',
  ),
  field(
    'cpuManagerReconcilePeriod',
    duration,
    { default: '10s', flag: 'cpu-manager-reconcile-period' },
    'How often the given CPUs are checked',
  ),
  field(
    'memoryManagerPolicy',
    string,
    { default: 'None', flag: 'memory-manager-policy', choices: ['None', 'Static'] },
    'How NUMA memory is given out',
  ),
  field(
    'topologyManagerPolicy',
    string,
    { default: 'none', flag: 'topology-manager-policy', choices: ['none', 'best-effort', 'restricted', 'single-numa-node'] },
    'How strictly resources lie on one NUMA node',
  ),
  field(
    'topologyManagerScope',
    string,
    { default: 'container', flag: 'topology-manager-scope', choices: ['container', 'pod'] },
    'What is kept on one NUMA node',
  ),
  field(
    'topologyManagerPolicyOptions',
    stringMap,
    { flag: pairs('topology-manager-policy-options') },
    'Options of the topology manager policy',
  ),
  field('qosReserved', stringMap, { flag: pairs('qos-reserved') }, 'Memory kept for higher QoS classes, in percent'),
  field('cpuCFSQuota', bool, { ...pointer, default: true, flag: 'cpu-cfs-quota' }, 'Enforce CPU limits'),
  field('cpuCFSQuotaPeriod', duration, { ...pointer, default: '100ms', flag: 'cpu-cfs-quota-period' }, 'Period of CPU limits'),
  field('memoryThrottlingFactor', float, { ...pointer }, 'Part of the memory limit at which a container is slowed'),
  field(
    'memoryReservationPolicy',
    string,
    { default: 'None', choices: ['None', 'TieredReservation'] },
    'Whether memory requests are kept by the kernel',
  ),
  field('failSwapOn', bool, { ...pointer, default: true, flag: 'fail-swap-on' }, 'Do not start while swap is on'),
  field('memorySwap.swapBehavior', string, { choices: ['NoSwap', 'LimitedSwap'] }, 'Whether pods may swap'),
  field('singleProcessOOMKill', bool, { ...pointer }, 'Kill one process and not the whole container when memory runs out'),
  field('failCgroupV1', bool, { ...pointer, default: true, flag: kept('fail-cgroupv1') }, 'Do not start on cgroup v1'),
  field(
    'localStorageCapacityIsolation',
    bool,
    { ...pointer, default: true, flag: 'local-storage-capacity-isolation' },
    'Count and limit ephemeral storage',
  ),

  // Eviction
  field('evictionHard', stringMap, { flag: thresholds('eviction-hard') }, 'Thresholds at which pods are evicted at once'),
  field('evictionSoft', stringMap, { flag: thresholds('eviction-soft') }, 'Thresholds at which pods are evicted after a grace period'),
  field('evictionSoftGracePeriod', stringMap, { flag: pairs('eviction-soft-grace-period') }, 'Grace periods of the soft thresholds'),
  field('evictionMinimumReclaim', stringMap, { flag: pairs('eviction-minimum-reclaim') }, 'What an eviction must free at least'),
  field(
    'evictionPressureTransitionPeriod',
    duration,
    { default: '5m0s', flag: 'eviction-pressure-transition-period' },
    'How long a pressure condition stays',
  ),
  field('evictionMaxPodGracePeriod', int32, { flag: 'eviction-max-pod-grace-period' }, 'Most seconds of grace at a soft eviction'),
  field('mergeDefaultEvictionSettings', bool, { ...pointer, default: false }, 'Keep the default of hard thresholds that are not given'),
  field('kernelMemcgNotification', bool, { flag: 'kernel-memcg-notification' }, 'Let the kernel tell when a memory threshold is crossed'),

  // Shutdown
  field('shutdownGracePeriod', duration, { default: '0s' }, 'Time for pods when the node shuts down'),
  field('shutdownGracePeriodCriticalPods', duration, { default: '0s' }, 'Part of it that is kept for critical pods'),
  field('shutdownGracePeriodByPodPriority', list(shutdownByPriority), {}, 'Time for pods when the node shuts down, by priority'),

  // The process and the host
  field('oomScoreAdj', int32, { ...pointer, default: -999, flag: 'oom-score-adj' }, 'oom_score_adj of the kubelet'),
  field('maxOpenFiles', int64, { default: 1000000, flag: 'max-open-files' }, 'Open files of the kubelet'),
  field('protectKernelDefaults', bool, { flag: 'protect-kernel-defaults' }, 'Fail where a kernel setting differs, and do not change it'),
  field(
    'makeIPTablesUtilChains',
    bool,
    { ...pointer, default: true, flag: 'make-iptables-util-chains' },
    'Keep the KUBE-IPTABLES-HINT chain',
  ),
  field('iptablesMasqueradeBit', int32, { ...pointer, default: 14 }, 'Without effect'),
  field('iptablesDropBit', int32, { ...pointer, default: 15 }, 'Without effect'),
  field(
    'volumePluginDir',
    string,
    { default: '/usr/libexec/kubernetes/kubelet-plugins/volume/exec/', flag: 'volume-plugin-dir', relativePath: true },
    'Folder of flexvolume drivers',
  ),
  field(
    'volumeStatsAggPeriod',
    duration,
    { default: '1m0s', flag: 'volume-stats-agg-period' },
    'How often volumes are measured; negative is off',
  ),

  // Features and observation
  field('featureGates', map(bool), { flag: { name: 'feature-gates', form: 'gates' } }, 'Features to switch on or off'),
  field('showHiddenMetricsForVersion', string, {}, 'The previous minor version, to show metrics that it had'),
  field('tracing', tracing, { ...pointer }, 'Where traces go'),
  field('logging.format', string, { default: 'text', flag: 'logging-format', choices: ['text', 'json'] }, 'Format of the log'),
  field('logging.flushFrequency', durationOrNanos, { default: '5s', flag: kept('log-flush-frequency') }, 'How often the log is flushed'),
  field('logging.verbosity', uint32, { flag: { name: 'v', short: 'v', kept: true } }, 'Level of the log'),
  field('logging.vmodule', list(vmoduleItem), { flag: { name: 'vmodule', form: 'vmodule', kept: true } }, 'Levels of single source files'),
  field('logging.options.text.splitStream', bool, { flag: 'log-text-split-stream' }, 'Text log: errors to stderr, the rest to stdout'),
  field(
    'logging.options.text.infoBufferSize',
    quantity,
    { default: '0', flag: 'log-text-info-buffer-size' },
    'Text log: buffer with split streams',
  ),
  field('logging.options.json.splitStream', bool, { flag: 'log-json-split-stream' }, 'JSON log: errors to stderr, the rest to stdout'),
  field(
    'logging.options.json.infoBufferSize',
    quantity,
    { default: '0', flag: 'log-json-info-buffer-size' },
    'JSON log: buffer with split streams',
  ),
];

export const fieldByPath: ReadonlyMap<string, Field> = new Map(fields.map((f) => [f.path, f]));
export const fieldByFlag: ReadonlyMap<string, Field> = new Map(fields.flatMap((f) => (f.flag === undefined ? [] : [[f.flag.name, f]])));
