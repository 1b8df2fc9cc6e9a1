import type { BlockDevices } from '../../host/block-devices.ts';
import type { MetricFamily } from '../exposition.ts';
import type { GroupSample } from '../group.ts';

/** One value of a group: the labels stand beside those that say whose it is. */
export interface Value {
  value: number;
  labels?: Readonly<Record<string, string>>;
}

/** A metric of groups. No values: the group has nothing of it. */
export interface GroupMetric {
  name: string;
  help: string;
  type: MetricFamily['type'];
  values(sample: GroupSample, devices: BlockDevices): readonly Value[];
  /** Metrics of what a group may use have the time of the scrape. */
  untimed?: boolean;
}

type One = (sample: GroupSample) => number | undefined;

function metric(type: MetricFamily['type'], name: string, help: string, get: One): GroupMetric {
  return {
    name,
    help,
    type,
    values: (sample) => {
      const value = get(sample);
      return value === undefined ? [] : [{ value }];
    },
  };
}

/** A metric with at most one value for each group. */
export const counter = (name: string, help: string, get: One): GroupMetric => metric('counter', name, help, get);
export const gauge = (name: string, help: string, get: One): GroupMetric => metric('gauge', name, help, get);
