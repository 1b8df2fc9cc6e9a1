/** Before the name of a container: its AppArmor profile, as pods named it before there was a field. */
export const AppArmorAnnotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';

/** Keys that the kubelet writes into pods, sandboxes and containers (contract: pod-lifecycle.md §1, §13). */
export const ConfigSourceAnnotation = 'kubernetes.io/config.source';
export const ConfigSeenAnnotation = 'kubernetes.io/config.seen';
export const ConfigHashAnnotation = 'kubernetes.io/config.hash';
export const ConfigMirrorAnnotation = 'kubernetes.io/config.mirror';

export const PodNameLabel = 'io.kubernetes.pod.name';
export const PodNamespaceLabel = 'io.kubernetes.pod.namespace';
export const PodUidLabel = 'io.kubernetes.pod.uid';
export const ContainerNameLabel = 'io.kubernetes.container.name';

export const ContainerHashAnnotation = 'io.kubernetes.container.hash';
export const ContainerRestartCountAnnotation = 'io.kubernetes.container.restartCount';
export const TerminationMessagePathAnnotation = 'io.kubernetes.container.terminationMessagePath';
export const TerminationMessagePolicyAnnotation = 'io.kubernetes.container.terminationMessagePolicy';
export const PreStopHandlerAnnotation = 'io.kubernetes.container.preStopHandler';
export const ContainerPortsAnnotation = 'io.kubernetes.container.ports';
export const PodDeletionGracePeriodAnnotation = 'io.kubernetes.pod.deletionGracePeriod';
export const PodTerminationGracePeriodAnnotation = 'io.kubernetes.pod.terminationGracePeriod';
