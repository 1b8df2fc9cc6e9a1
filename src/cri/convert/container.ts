import { type Int64, toBigInt, toNumber } from '../../proto/int64.ts';
import type * as t from '../types.ts';
import { readImageSpec, type WireImageSpec } from './image.ts';
import { readResources, type WireResources } from './resources.ts';
import { writeContainerSecurity } from './security.ts';
import { readSignal, writeSignal } from './signal.ts';

export interface WireContainer {
  id: string;
  podSandboxId: string;
  metadata: t.ContainerMetadata | null;
  image: WireImageSpec | null;
  imageRef: string;
  imageId: string;
  state: number;
  createdAt: Int64;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export interface WireMount {
  containerPath: string;
  hostPath: string;
  readonly: boolean;
  selinuxRelabel: boolean;
  propagation: number;
  uidMappings: t.IdMapping[];
  gidMappings: t.IdMapping[];
  recursiveReadOnly: boolean;
  image: WireImageSpec | null;
  imageSubPath: string;
  mountOptions: string[];
}

export interface WireContainerStatus extends Omit<WireContainer, 'podSandboxId'> {
  startedAt: Int64;
  finishedAt: Int64;
  exitCode: number;
  reason: string;
  message: string;
  mounts: WireMount[];
  logPath: string;
  resources: { linux: WireResources | null } | null;
  user: { linux: { uid: Int64; gid: Int64; supplementalGroups: Int64[] } | null } | null;
  stopSignal: number;
}

/** In the order of the protocol's numbers; any other number is unknown too. */
const states: readonly t.ContainerState[] = ['created', 'running', 'exited', 'unknown'];
const propagations: readonly t.MountPropagation[] = ['PRIVATE', 'HOST_TO_CONTAINER', 'BIDIRECTIONAL'];

export function readContainerMetadata(wire: t.ContainerMetadata | null): t.ContainerMetadata {
  return wire ?? { name: '', attempt: 0 };
}

export function readContainer(wire: WireContainer): t.Container {
  return {
    id: wire.id,
    podSandboxId: wire.podSandboxId,
    metadata: readContainerMetadata(wire.metadata),
    image: readImageSpec(wire.image),
    imageRef: wire.imageRef,
    imageId: wire.imageId,
    state: states[wire.state] ?? 'unknown',
    createdAt: toBigInt(wire.createdAt),
    labels: wire.labels,
    annotations: wire.annotations,
  };
}

export function readContainerStatus(wire: WireContainerStatus, signals: ReadonlyMap<number, string>): t.ContainerStatus {
  const status: t.ContainerStatus = {
    id: wire.id,
    metadata: readContainerMetadata(wire.metadata),
    state: states[wire.state] ?? 'unknown',
    createdAt: toBigInt(wire.createdAt),
    startedAt: toBigInt(wire.startedAt),
    finishedAt: toBigInt(wire.finishedAt),
    exitCode: wire.exitCode,
    image: readImageSpec(wire.image),
    imageRef: wire.imageRef,
    imageId: wire.imageId,
    reason: wire.reason,
    message: wire.message,
    labels: wire.labels,
    annotations: wire.annotations,
    mounts: wire.mounts.map(readMount),
    logPath: wire.logPath,
  };
  if (wire.resources?.linux) status.resources = readResources(wire.resources.linux);
  const user = wire.user?.linux;
  if (user) status.user = { uid: toNumber(user.uid), gid: toNumber(user.gid), supplementalGroups: user.supplementalGroups.map(toNumber) };
  const stopSignal = readSignal(wire.stopSignal, signals);
  if (stopSignal !== undefined) status.stopSignal = stopSignal;
  return status;
}

function readMount(wire: WireMount): t.Mount {
  const mount: t.Mount = { containerPath: wire.containerPath, hostPath: wire.hostPath };
  if (wire.readonly) mount.readonly = true;
  if (wire.selinuxRelabel) mount.selinuxRelabel = true;
  if (wire.propagation !== 0) mount.propagation = propagations[wire.propagation] ?? 'PRIVATE';
  if (wire.uidMappings.length > 0) mount.uidMappings = wire.uidMappings;
  if (wire.gidMappings.length > 0) mount.gidMappings = wire.gidMappings;
  if (wire.recursiveReadOnly) mount.recursiveReadOnly = true;
  if (wire.image) mount.image = readImageSpec(wire.image);
  if (wire.imageSubPath !== '') mount.imageSubPath = wire.imageSubPath;
  if (wire.mountOptions.length > 0) mount.mountOptions = wire.mountOptions;
  return mount;
}

function writeMount(mount: t.Mount): object {
  return mount.propagation === undefined ? mount : { ...mount, propagation: `PROPAGATION_${mount.propagation}` };
}

/**
 * The protocol's form of a container. Shares what needs no change; environment values become bytes (text would be
 * read as base64). Throws CriError `InvalidArgument` for an unknown stop signal.
 */
export function writeContainerConfig(config: t.ContainerConfig, signals: ReadonlyMap<number, string>): object {
  const { cdiDevices, stopSignal, linux, ...rest } = config;
  const security = linux?.securityContext;
  return {
    ...rest,
    envs: config.envs.map((e) => ({ key: e.key, value: Buffer.from(e.value) })),
    mounts: config.mounts.map(writeMount),
    linux: security ? { ...linux, securityContext: writeContainerSecurity(security) } : linux,
    CDIDevices: cdiDevices,
    stopSignal: stopSignal === undefined ? 0 : writeSignal(stopSignal, signals),
  };
}

export function writeContainerFilter(filter: t.ContainerFilter | undefined): object {
  if (!filter) return {};
  const state = filter.state === undefined ? undefined : { state: states.indexOf(filter.state) };
  return { filter: { id: filter.id, state, podSandboxId: filter.podSandboxId, labelSelector: filter.labelSelector } };
}
