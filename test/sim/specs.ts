import { posix } from 'node:path';
import {
  ContainerHashAnnotation,
  ContainerNameLabel,
  ContainerRestartCountAnnotation,
  PodNameLabel,
  PodNamespaceLabel,
  PodUidLabel,
} from '../../src/api/annotations.ts';
import type { Pod } from '../../src/api/types.ts';
import { containerHashHex } from '../../src/compat/container-hash.ts';
import type { ContainerConfig, NamespaceOption, PodSandboxConfig } from '../../src/cri/types.ts';
import type { ContainerSpecInput, SpecBuilder } from '../../src/sync/context.ts';

/** The least that a runtime must be told of a pod: names, labels, annotations, namespaces, logs. */
export class SimSpecs implements SpecBuilder {
  #podLogDir: (pod: Pod) => string;

  constructor(podLogDir: (pod: Pod) => string) {
    this.#podLogDir = podLogDir;
  }

  async sandbox(pod: Pod, attempt: number): Promise<{ config: PodSandboxConfig; runtimeHandler: string }> {
    const { name, namespace, uid, labels, annotations } = pod.metadata;
    const config: PodSandboxConfig = {
      metadata: { name, namespace, uid, attempt },
      hostname: name,
      logDirectory: this.#podLogDir(pod),
      portMappings: [],
      labels: { ...labels, ...podLabels(pod) },
      annotations: { ...annotations },
      linux: { securityContext: { namespaceOptions: namespaces(pod) } },
    };
    return { config, runtimeHandler: '' };
  }

  async container({ pod, container, restartCount, imageRef }: ContainerSpecInput): Promise<ContainerConfig> {
    return {
      metadata: { name: container.name, attempt: restartCount },
      image: { image: imageRef, userSpecifiedImage: container.image ?? '' },
      command: container.command ?? [],
      args: container.args ?? [],
      envs: [],
      mounts: [],
      devices: [],
      labels: { ...podLabels(pod), [ContainerNameLabel]: container.name },
      annotations: {
        [ContainerHashAnnotation]: containerHashHex(container),
        [ContainerRestartCountAnnotation]: String(restartCount),
      },
      logPath: `${container.name}/${restartCount}.log`,
      linux: { securityContext: { namespaceOptions: namespaces(pod) } },
    };
  }

  containerLogDir(pod: Pod, container: string): string {
    return posix.join(this.#podLogDir(pod), container);
  }
}

function podLabels({ metadata: { name, namespace, uid } }: Pod): Record<string, string> {
  return { [PodNameLabel]: name, [PodNamespaceLabel]: namespace, [PodUidLabel]: uid };
}

function namespaces(pod: Pod): NamespaceOption {
  return { network: pod.spec.hostNetwork ? 'NODE' : 'POD', pid: 'CONTAINER', ipc: 'POD' };
}
