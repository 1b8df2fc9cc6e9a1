import { type Int64, toBigInt } from '../../proto/int64.ts';
import type * as t from '../types.ts';
import { readNamespaceOption, type WireNamespaceOption, writeSandboxSecurity } from './security.ts';

export interface WireSandbox {
  id: string;
  metadata: t.PodSandboxMetadata | null;
  state: number;
  createdAt: Int64;
  labels: Record<string, string>;
  annotations: Record<string, string>;
  runtimeHandler: string;
}

export interface WireSandboxStatus extends WireSandbox {
  network: { ip: string; additionalIps: { ip: string }[] } | null;
  linux: { namespaces: { options: WireNamespaceOption | null } | null } | null;
}

const noMetadata: t.PodSandboxMetadata = { name: '', uid: '', namespace: '', attempt: 0 };

export function readSandboxMetadata(wire: t.PodSandboxMetadata | null): t.PodSandboxMetadata {
  return wire ?? { ...noMetadata };
}

export function readSandbox(wire: WireSandbox): t.PodSandbox {
  return {
    id: wire.id,
    metadata: readSandboxMetadata(wire.metadata),
    // Anything but the known "ready" is not ready.
    state: wire.state === 0 ? 'ready' : 'notready',
    createdAt: toBigInt(wire.createdAt),
    labels: wire.labels,
    annotations: wire.annotations,
    runtimeHandler: wire.runtimeHandler,
  };
}

export function readSandboxStatus(wire: WireSandboxStatus): t.PodSandboxStatus {
  const status: t.PodSandboxStatus = readSandbox(wire);
  if (wire.network) status.network = { ip: wire.network.ip, additionalIps: wire.network.additionalIps.map((a) => a.ip) };
  const options = wire.linux?.namespaces?.options;
  if (options) status.namespaceOptions = readNamespaceOption(options);
  return status;
}

/** Shares every nested object with `config`: nothing below is changed on the way out. */
export function writeSandboxConfig(config: t.PodSandboxConfig): object {
  const security = config.linux?.securityContext;
  if (!security) return config;
  return { ...config, linux: { ...config.linux, securityContext: writeSandboxSecurity(security) } };
}

export function writeSandboxFilter(filter: t.PodSandboxFilter | undefined): object {
  if (!filter) return {};
  const state = filter.state === undefined ? undefined : { state: filter.state === 'ready' ? 0 : 1 };
  return { filter: { id: filter.id, state, labelSelector: filter.labelSelector } };
}
