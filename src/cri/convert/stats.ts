import { type Int64, toBigInt, toUnsigned } from '../../proto/int64.ts';
import type * as t from '../types.ts';
import { readContainerMetadata } from './container.ts';
import { readFilesystemUsage, type WireFilesystemUsage } from './image.ts';
import { readSandboxMetadata } from './sandbox.ts';
import { type Int64Value, unwrapUnsigned } from './scalars.ts';

interface WirePsiData {
  Total: Int64;
  Avg10: number;
  Avg60: number;
  Avg300: number;
}
type WirePsi = { Full: WirePsiData | null; Some: WirePsiData | null } | null;

interface WireCpu {
  timestamp: Int64;
  usageCoreNanoSeconds: Int64Value;
  usageNanoCores: Int64Value;
  psi: WirePsi;
}
interface WireMemory {
  timestamp: Int64;
  workingSetBytes: Int64Value;
  availableBytes: Int64Value;
  usageBytes: Int64Value;
  rssBytes: Int64Value;
  pageFaults: Int64Value;
  majorPageFaults: Int64Value;
  psi: WirePsi;
}
interface WireIo {
  timestamp: Int64;
  psi: WirePsi;
}
interface WireInterface {
  name: string;
  rxBytes: Int64Value;
  rxErrors: Int64Value;
  txBytes: Int64Value;
  txErrors: Int64Value;
}

interface WireAttributes<M> {
  id: string;
  metadata: M | null;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export interface WireContainerStats {
  attributes: WireAttributes<t.ContainerMetadata> | null;
  cpu: WireCpu | null;
  memory: WireMemory | null;
  writableLayer: WireFilesystemUsage | null;
  swap: { timestamp: Int64; swapAvailableBytes: Int64Value; swapUsageBytes: Int64Value } | null;
  io: WireIo | null;
}

export interface WirePodSandboxStats {
  attributes: WireAttributes<t.PodSandboxMetadata> | null;
  linux: {
    cpu: WireCpu | null;
    memory: WireMemory | null;
    network: { timestamp: Int64; defaultInterface: WireInterface | null; interfaces: WireInterface[] } | null;
    process: { timestamp: Int64; processCount: Int64Value } | null;
    containers: WireContainerStats[];
    io: WireIo | null;
  } | null;
}

export function readContainerStats(wire: WireContainerStats): t.ContainerStats {
  const attributes = wire.attributes;
  const stats: t.ContainerStats = {
    id: attributes?.id ?? '',
    metadata: readContainerMetadata(attributes?.metadata ?? null),
    labels: attributes?.labels ?? {},
    annotations: attributes?.annotations ?? {},
  };
  if (wire.cpu) stats.cpu = readCpu(wire.cpu);
  if (wire.memory) stats.memory = readMemory(wire.memory);
  if (wire.writableLayer) stats.writableLayer = readFilesystemUsage(wire.writableLayer);
  if (wire.swap) {
    stats.swap = measured({
      timestamp: toBigInt(wire.swap.timestamp),
      swapAvailableBytes: unwrapUnsigned(wire.swap.swapAvailableBytes),
      swapUsageBytes: unwrapUnsigned(wire.swap.swapUsageBytes),
    });
  }
  if (wire.io) stats.io = readIo(wire.io);
  return stats;
}

export function readPodSandboxStats(wire: WirePodSandboxStats): t.PodSandboxStats {
  const { attributes, linux } = wire;
  const stats: t.PodSandboxStats = {
    id: attributes?.id ?? '',
    metadata: readSandboxMetadata(attributes?.metadata ?? null),
    labels: attributes?.labels ?? {},
    annotations: attributes?.annotations ?? {},
    containers: (linux?.containers ?? []).map(readContainerStats),
  };
  if (!linux) return stats;
  if (linux.cpu) stats.cpu = readCpu(linux.cpu);
  if (linux.memory) stats.memory = readMemory(linux.memory);
  if (linux.io) stats.io = readIo(linux.io);
  if (linux.process) {
    stats.process = measured({ timestamp: toBigInt(linux.process.timestamp), processCount: unwrapUnsigned(linux.process.processCount) });
  }
  if (linux.network) {
    const { timestamp, defaultInterface, interfaces } = linux.network;
    stats.network = { timestamp: toBigInt(timestamp), interfaces: interfaces.map(readInterface) };
    if (defaultInterface) stats.network.defaultInterface = readInterface(defaultInterface);
  }
  return stats;
}

function readCpu(wire: WireCpu): t.CpuUsage {
  return measured({
    timestamp: toBigInt(wire.timestamp),
    usageCoreNanoSeconds: wire.usageCoreNanoSeconds ? BigInt.asUintN(64, toBigInt(wire.usageCoreNanoSeconds.value)) : undefined,
    usageNanoCores: unwrapUnsigned(wire.usageNanoCores),
    psi: readPsi(wire.psi),
  });
}

function readMemory(wire: WireMemory): t.MemoryUsage {
  return measured({
    timestamp: toBigInt(wire.timestamp),
    workingSetBytes: unwrapUnsigned(wire.workingSetBytes),
    availableBytes: unwrapUnsigned(wire.availableBytes),
    usageBytes: unwrapUnsigned(wire.usageBytes),
    rssBytes: unwrapUnsigned(wire.rssBytes),
    pageFaults: unwrapUnsigned(wire.pageFaults),
    majorPageFaults: unwrapUnsigned(wire.majorPageFaults),
    psi: readPsi(wire.psi),
  });
}

function readIo(wire: WireIo): t.IoUsage {
  return measured({ timestamp: toBigInt(wire.timestamp), psi: readPsi(wire.psi) });
}

function readInterface(wire: WireInterface): t.NetworkInterfaceUsage {
  return measured({
    name: wire.name,
    rxBytes: unwrapUnsigned(wire.rxBytes),
    rxErrors: unwrapUnsigned(wire.rxErrors),
    txBytes: unwrapUnsigned(wire.txBytes),
    txErrors: unwrapUnsigned(wire.txErrors),
  });
}

function readPsi(wire: WirePsi): t.PsiStats | undefined {
  return wire ? measured({ full: readPsiData(wire.Full), some: readPsiData(wire.Some) }) : undefined;
}

function readPsiData(wire: WirePsiData | null): t.PsiData | undefined {
  return wire ? { total: toUnsigned(wire.Total), avg10: wire.Avg10, avg60: wire.Avg60, avg300: wire.Avg300 } : undefined;
}

type Measured<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Drops the keys that are undefined. */
function measured<T extends object>(values: T): Measured<T> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) if (value !== undefined) out[key] = value;
  return out as Measured<T>;
}
