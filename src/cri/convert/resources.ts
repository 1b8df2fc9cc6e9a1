import { type Int64, toNumber, toUnsigned } from '../../proto/int64.ts';
import type * as t from '../types.ts';

export interface WireResources {
  cpuPeriod: Int64;
  cpuQuota: Int64;
  cpuShares: Int64;
  memoryLimitInBytes: Int64;
  oomScoreAdj: Int64;
  cpusetCpus: string;
  cpusetMems: string;
  hugepageLimits: { pageSize: string; limit: Int64 }[];
  unified: Record<string, string>;
  memorySwapLimitInBytes: Int64;
}

/** Zero and empty are the protocol's "not set": they stay undefined. */
export function readResources(wire: WireResources): t.LinuxContainerResources {
  const out: t.LinuxContainerResources = {};
  const cpuPeriod = toNumber(wire.cpuPeriod);
  if (cpuPeriod !== 0) out.cpuPeriod = cpuPeriod;
  const cpuQuota = toNumber(wire.cpuQuota);
  if (cpuQuota !== 0) out.cpuQuota = cpuQuota;
  const cpuShares = toNumber(wire.cpuShares);
  if (cpuShares !== 0) out.cpuShares = cpuShares;
  const memory = toNumber(wire.memoryLimitInBytes);
  if (memory !== 0) out.memoryLimitInBytes = memory;
  const oom = toNumber(wire.oomScoreAdj);
  if (oom !== 0) out.oomScoreAdj = oom;
  if (wire.cpusetCpus !== '') out.cpusetCpus = wire.cpusetCpus;
  if (wire.cpusetMems !== '') out.cpusetMems = wire.cpusetMems;
  if (wire.hugepageLimits.length > 0) {
    out.hugepageLimits = wire.hugepageLimits.map((h) => ({ pageSize: h.pageSize, limit: toUnsigned(h.limit) }));
  }
  if (Object.keys(wire.unified).length > 0) out.unified = wire.unified;
  const swap = toNumber(wire.memorySwapLimitInBytes);
  if (swap !== 0) out.memorySwapLimitInBytes = swap;
  return out;
}
