import type * as t from '../../src/cri/types.ts';
import type { ContainerRecord, SandboxRecord } from './machine.ts';

/** The runtime's answers about its records: fresh objects, so that no client changes the node by changing an answer. */

export function sandboxOf(s: SandboxRecord): t.PodSandbox {
  return {
    id: s.id,
    metadata: { ...s.config.metadata },
    state: s.state,
    createdAt: s.createdAt,
    labels: { ...s.config.labels },
    annotations: { ...s.config.annotations },
    runtimeHandler: s.runtimeHandler,
  };
}

export function sandboxStatusOf(s: SandboxRecord): t.PodSandboxStatus {
  const asked = s.config.linux?.securityContext?.namespaceOptions;
  return {
    ...sandboxOf(s),
    network: { ip: s.ip, additionalIps: [] },
    namespaceOptions: asked ? { ...asked } : { network: 'POD', pid: 'POD', ipc: 'POD' },
  };
}

export function containerOf(c: ContainerRecord): t.Container {
  return {
    id: c.id,
    podSandboxId: c.sandbox.id,
    metadata: { ...c.config.metadata },
    image: { ...c.config.image },
    imageRef: c.imageId,
    imageId: c.imageId,
    state: c.state,
    createdAt: c.createdAt,
    labels: { ...c.config.labels },
    annotations: { ...c.config.annotations },
  };
}

export function containerStatusOf(c: ContainerRecord): t.ContainerStatus {
  return {
    id: c.id,
    metadata: { ...c.config.metadata },
    state: c.state,
    createdAt: c.createdAt,
    startedAt: c.startedAt,
    finishedAt: c.finishedAt,
    exitCode: c.exitCode,
    image: { ...c.config.image, image: c.imageName },
    imageRef: c.imageRef,
    imageId: c.imageId,
    reason: c.reason,
    message: c.message,
    labels: { ...c.config.labels },
    annotations: { ...c.config.annotations },
    mounts: c.config.mounts.map((m) => ({ ...m })),
    logPath: c.sandbox.config.logDirectory && c.config.logPath ? `${c.sandbox.config.logDirectory}/${c.config.logPath}` : '',
    ...(c.resources ? { resources: { ...c.resources } } : {}),
  };
}

export function matchesSandbox(s: t.PodSandbox, filter: t.PodSandboxFilter | undefined): boolean {
  if (!filter) return true;
  if (filter.id !== undefined && filter.id !== '' && !s.id.startsWith(filter.id)) return false;
  if (filter.state !== undefined && s.state !== filter.state) return false;
  return hasLabels(s.labels, filter.labelSelector);
}

export function matchesContainer(c: t.Container, filter: t.ContainerFilter | undefined): boolean {
  if (!filter) return true;
  if (filter.id !== undefined && filter.id !== '' && !c.id.startsWith(filter.id)) return false;
  if (filter.podSandboxId !== undefined && filter.podSandboxId !== '' && !c.podSandboxId.startsWith(filter.podSandboxId)) return false;
  if (filter.state !== undefined && c.state !== filter.state) return false;
  return hasLabels(c.labels, filter.labelSelector);
}

function hasLabels(labels: Record<string, string>, wanted: Record<string, string> | undefined): boolean {
  return Object.entries(wanted ?? {}).every(([key, value]) => labels[key] === value);
}
