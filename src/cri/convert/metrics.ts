import { type Int64, toBigInt } from '../../proto/int64.ts';
import type * as t from '../types.ts';
import { type Int64Value, unwrapUnsigned } from './scalars.ts';

interface WireMetric {
  name: string;
  timestamp: Int64;
  metricType: number;
  labelValues: string[];
  value: Int64Value;
}

export interface WirePodSandboxMetrics {
  podSandboxId: string;
  metrics: WireMetric[];
  containerMetrics: { containerId: string; metrics: WireMetric[] }[];
}

export function readPodSandboxMetrics(wire: WirePodSandboxMetrics): t.PodSandboxMetrics {
  return {
    podSandboxId: wire.podSandboxId,
    metrics: wire.metrics.map(readMetric),
    containers: wire.containerMetrics.map((c) => ({ containerId: c.containerId, metrics: c.metrics.map(readMetric) })),
  };
}

function readMetric(wire: WireMetric): t.RuntimeMetric {
  const metric: t.RuntimeMetric = {
    name: wire.name,
    timestamp: toBigInt(wire.timestamp),
    type: wire.metricType === 0 ? 'counter' : 'gauge',
    labelValues: wire.labelValues,
  };
  const value = unwrapUnsigned(wire.value);
  if (value !== undefined) metric.value = value;
  return metric;
}
