import type * as t from '../types.ts';

export interface WireStatusResponse {
  status: { conditions: t.RuntimeCondition[] } | null;
  info: Record<string, string>;
  runtimeHandlers: { name: string; features: { recursiveReadOnlyMounts: boolean; userNamespaces: boolean } | null }[];
  features: { supplementalGroupsPolicy: boolean; userNamespacesHostNetwork: boolean; mountOptions: boolean } | null;
}

/** Absent features stay undefined: the runtime has none of them (contract: compat-matrix.md §4). */
export function readRuntimeStatus(wire: WireStatusResponse): t.RuntimeStatus {
  const status: t.RuntimeStatus = {
    conditions: wire.status?.conditions ?? [],
    runtimeHandlers: wire.runtimeHandlers.map((h) => (h.features ? { name: h.name, features: h.features } : { name: h.name })),
  };
  if (wire.features) status.features = wire.features;
  if (Object.keys(wire.info).length > 0) status.info = wire.info;
  return status;
}
