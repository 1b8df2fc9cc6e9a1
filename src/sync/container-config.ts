import * as annotation from '../api/annotations.ts';
import type { Container, Pod, ResourceList, StringMap } from '../api/types.ts';
import { containerHashHex } from '../compat/container-hash.ts';
import { containerLogFile } from '../containers/log-paths.ts';
import type { ContainerConfig, Device, LinuxContainerResources, Mount, UserNamespace } from '../cri/types.ts';
import type { Placement } from '../resources/managers.ts';
import { containerResources } from './container-resources.ts';
import { expandCommandAndArgs } from './env-expansion.ts';
import type { ResolvedEnv } from './environment.ts';
import { containerPortsJson, lifecycleHandlerJson } from './go-json.ts';
import type { NodeSettings } from './node-settings.ts';
import type { ImageUser } from './security-context.ts';
import { containerSecurityContext } from './security-context.ts';

export interface ContainerConfigInput {
  pod: Pod;
  container: Container;
  restartCount: number;
  /** The image as the runtime resolved it. */
  imageRef: string;
  /** See imageUser(). */
  user: ImageUser;
  /** Resolved and expanded: see containerEnvironment(). */
  env: readonly ResolvedEnv[];
  mounts: readonly Mount[];
  node: NodeSettings;
  /** The node's allocatable. */
  allocatable: ResourceList;
  /** Groups that the pod's volumes bring. */
  volumeGroups?: readonly number[];
  userns?: UserNamespace | undefined;
  /** Whose process namespace an ephemeral container joins. */
  targetId?: string | undefined;
  /** Where it may run. */
  placement?: Placement;
  devices?: readonly Device[];
  cdiDevices?: readonly string[];
  /** What device plugins want annotated; the agent's own keys win. */
  pluginAnnotations?: StringMap;
}

/** Everything the runtime is told about a container. Throws ConfigGenerationError. Source: contract pod-lifecycle.md §13. */
export function containerConfig(input: ContainerConfigInput): ContainerConfig {
  const { pod, container, restartCount, node, userns } = input;
  const securityContext = containerSecurityContext({
    pod,
    container,
    user: input.user,
    seccomp: node,
    extraMaskedPaths: node.extraMaskedPaths,
    volumeGroups: input.volumeGroups ?? [],
    userns,
    targetId: input.targetId,
  });
  const { command, args } = expandCommandAndArgs(container, input.env);
  const mapped = userns === undefined || userns.uids.length === 0 ? {} : { uidMappings: userns.uids, gidMappings: userns.gids };
  const { stopSignal } = container.lifecycle ?? {};
  const resources = containerResources(pod, container, node, {
    exclusiveCpus: input.placement?.exclusiveCpus === true,
    allocatable: input.allocatable,
  });
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: input.imageRef, userSpecifiedImage: container.image ?? '' },
    command: command ?? [],
    args: args ?? [],
    workingDir: container.workingDir ?? '',
    envs: input.env.map(({ name, value }) => ({ key: name, value })),
    mounts: input.mounts.map((mount) => ({ ...mount, ...mapped })),
    devices: [...(input.devices ?? [])],
    labels: containerLabels(pod, container),
    annotations: containerAnnotations(input),
    logPath: containerLogFile(container.name, restartCount),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    linux: { resources: { ...resources, ...cpusets(input.placement) }, securityContext },
    ...(input.cdiDevices === undefined ? {} : { cdiDevices: input.cdiDevices.map((name) => ({ name })) }),
    ...(node.containerStopSignals && stopSignal ? { stopSignal } : {}),
  };
}

function cpusets({ cpusetCpus, cpusetMems }: Partial<Placement> = {}): Pick<LinuxContainerResources, 'cpusetCpus' | 'cpusetMems'> {
  return { ...(cpusetCpus === undefined ? {} : { cpusetCpus }), ...(cpusetMems === undefined ? {} : { cpusetMems }) };
}

function containerLabels(pod: Pod, container: Container): Record<string, string> {
  return {
    [annotation.PodNameLabel]: pod.metadata.name,
    [annotation.PodNamespaceLabel]: pod.metadata.namespace,
    [annotation.PodUidLabel]: pod.metadata.uid,
    [annotation.ContainerNameLabel]: container.name,
  };
}

function containerAnnotations({ pod, container, restartCount, pluginAnnotations }: ContainerConfigInput): Record<string, string> {
  const { deletionGracePeriodSeconds } = pod.metadata;
  const { terminationGracePeriodSeconds } = pod.spec;
  const preStop = container.lifecycle?.preStop;
  const optional: [key: string, value: string | undefined][] = [
    [annotation.PodDeletionGracePeriodAnnotation, deletionGracePeriodSeconds?.toString()],
    [annotation.PodTerminationGracePeriodAnnotation, terminationGracePeriodSeconds?.toString()],
    [annotation.PreStopHandlerAnnotation, preStop ? lifecycleHandlerJson(preStop) : undefined],
    [annotation.ContainerPortsAnnotation, container.ports?.length ? containerPortsJson(container.ports) : undefined],
  ];
  return {
    ...pluginAnnotations,
    [annotation.ContainerHashAnnotation]: containerHashHex(container),
    [annotation.ContainerRestartCountAnnotation]: String(restartCount),
    [annotation.TerminationMessagePathAnnotation]: container.terminationMessagePath ?? '',
    [annotation.TerminationMessagePolicyAnnotation]: container.terminationMessagePolicy ?? '',
    ...Object.fromEntries(optional.filter(([, value]) => value !== undefined)),
  };
}
