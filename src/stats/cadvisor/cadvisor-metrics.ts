import type { Machine } from '../../host/machine.ts';
import { exposition, type MetricFamily, type Sample } from '../exposition.ts';
import type { GroupSample } from '../group.ts';
import type { Collection } from '../group-collector.ts';
import { cpuMetrics } from './cpu.ts';
import { diskMetrics } from './disk.ts';
import type { GroupMetric } from './family.ts';
import { type MachineTopology, machineFamilies } from './machine.ts';
import { memoryMetrics } from './memory.ts';
import { networkMetrics, pressureMetrics, processMetrics, specMetrics } from './other.ts';

export interface CadvisorMetricsDeps {
  collect(): Promise<Collection>;
  machine: Machine;
  topology: MachineTopology;
}

/** Every metric of a group that the contract names (metrics.md §5). */
export const groupMetrics: readonly GroupMetric[] = [
  ...specMetrics,
  ...cpuMetrics,
  ...memoryMetrics,
  ...diskMetrics,
  ...networkMetrics,
  ...processMetrics,
  ...pressureMetrics,
];

/** The text of /metrics/cadvisor. A reading that fails is told by container_scrape_error. */
export async function cadvisorMetrics({ collect, machine, topology }: CadvisorMetricsDeps): Promise<string> {
  const collection = await collect().catch(() => undefined);
  const failed: MetricFamily = {
    name: 'container_scrape_error',
    help: '1 if the groups could not be measured, 0 otherwise',
    type: 'gauge',
    samples: [{ value: collection === undefined ? 1 : 0 }],
  };
  const families = [...groupFamilies(collection), failed, ...machineFamilies(machine, topology)];
  return exposition(families.sort((a, b) => (a.name < b.name ? -1 : 1)));
}

/** All groups' values, by metric. */
export function groupFamilies(collection: Collection | undefined): MetricFamily[] {
  if (collection === undefined) return [];
  const { samples, devices } = collection;
  const labelled = samples.map((sample) => ({ sample, base: labelsOf(sample) }));
  return groupMetrics.map(({ name, help, type, values, untimed }) => ({
    name,
    help,
    type,
    samples: labelled.flatMap(({ sample, base }) =>
      values(sample, devices).map(
        ({ value, labels }): Sample => ({
          labels: labels === undefined ? base : { ...base, ...labels },
          value,
          ...(untimed === true ? {} : { atMs: sample.stats.atMs }),
        }),
      ),
    ),
  }));
}

/** All six are there for every group, empty where nothing is known: a family has one set of labels. */
function labelsOf({ path, container, image, id, namespace, pod }: GroupSample): Record<string, string> {
  return { container, id: path, image, name: id, namespace, pod };
}
