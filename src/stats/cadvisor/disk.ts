import type { BlockDevices, DiskCounts, FilesystemCounts } from '../../host/block-devices.ts';
import type { DeviceCounts, IoStat } from '../../host/cgroups/stat-files.ts';
import type { MetricFamily } from '../exposition.ts';
import type { GroupSample } from '../group.ts';
import type { GroupMetric, Value } from './family.ts';

const deviceName = ({ major, minor }: DeviceCounts, devices: BlockDevices) => devices.names.get(`${major}:${minor}`) ?? '';

/** A figure of the machine's file systems: only the root group has them. */
function filesystem(name: string, help: string, type: MetricFamily['type'], get: (fs: FilesystemCounts) => number): GroupMetric {
  return {
    name,
    help,
    type,
    values: ({ filesystems = [] }) => filesystems.map((fs) => ({ value: get(fs), labels: { device: fs.device } })),
  };
}

/** What the group's I/O statistics say of each device; for the root also what the devices themselves say. */
function io(
  name: string,
  help: string,
  type: MetricFamily['type'],
  from: { table?: keyof IoStat; operation?: string; scale?: number; disk?: (disk: DiskCounts) => number },
): GroupMetric {
  const { table, operation = '', scale = 1, disk } = from;
  const ofGroup = ({ stats }: GroupSample, devices: BlockDevices): Value[] =>
    (table === undefined ? [] : stats.io[table]).map((counts) => ({
      value: (counts.operations[operation] ?? 0) * scale,
      labels: { device: deviceName(counts, devices) },
    }));
  const ofDevices = ({ filesystems = [] }: GroupSample): Value[] =>
    disk === undefined
      ? []
      : filesystems.map((fs) => ({ value: fs.disk === undefined ? 0 : disk(fs.disk), labels: { device: fs.device } }));
  return {
    name,
    help,
    type,
    values: (sample, devices) => {
      const known = ofGroup(sample, devices);
      const named = new Set(known.map((v) => v.labels?.['device']));
      return [...known, ...ofDevices(sample).filter((v) => !named.has(v.labels?.['device']))];
    },
  };
}

const microseconds = 1e-6;

/** Contract metrics.md §5, sets disk and diskIO. Containers have file systems only where the runtime counts them; containerd does not. */
export const diskMetrics: readonly GroupMetric[] = [
  filesystem('container_fs_inodes_free', 'Inodes that are free', 'gauge', (fs) => fs.inodesFree),
  filesystem('container_fs_inodes_total', 'Inodes of the file system', 'gauge', (fs) => fs.inodes),
  filesystem('container_fs_limit_bytes', 'Size of the file system in bytes', 'gauge', (fs) => fs.limit),
  filesystem('container_fs_usage_bytes', 'Bytes in use of the file system', 'gauge', (fs) => fs.usage),
  io('container_fs_reads_bytes_total', 'Bytes read', 'counter', { table: 'serviceBytes', operation: 'Read' }),
  io('container_fs_writes_bytes_total', 'Bytes written', 'counter', { table: 'serviceBytes', operation: 'Write' }),
  io('container_fs_reads_total', 'Reads that ended', 'counter', { table: 'serviced', operation: 'Read', disk: (d) => d.reads }),
  io('container_fs_writes_total', 'Writes that ended', 'counter', { table: 'serviced', operation: 'Write', disk: (d) => d.writes }),
  io('container_fs_sector_reads_total', 'Sectors read', 'counter', { disk: (d) => d.sectorsRead }),
  io('container_fs_sector_writes_total', 'Sectors written', 'counter', { disk: (d) => d.sectorsWritten }),
  io('container_fs_reads_merged_total', 'Reads merged', 'counter', { disk: (d) => d.readsMerged }),
  io('container_fs_writes_merged_total', 'Writes merged', 'counter', { disk: (d) => d.writesMerged }),
  io('container_fs_read_seconds_total', 'Time spent reading, in seconds', 'counter', { disk: (d) => d.readTime / 1000 }),
  io('container_fs_write_seconds_total', 'Time spent writing, in seconds', 'counter', { disk: (d) => d.writeTime / 1000 }),
  io('container_fs_io_current', 'Operations under way', 'gauge', { disk: (d) => d.ioInProgress }),
  io('container_fs_io_time_seconds_total', 'Time with operations under way, in seconds', 'counter', { disk: (d) => d.ioTime / 1000 }),
  io('container_fs_io_time_weighted_seconds_total', 'Time that operations waited or worked, in seconds', 'counter', {
    disk: (d) => d.weightedIoTime / 1000,
  }),
  io('container_fs_io_cost_usage_seconds_total', 'Cost of operations by the kernel’s model, in seconds', 'counter', {
    table: 'costUsage',
    operation: 'Count',
    scale: microseconds,
  }),
  io('container_fs_io_cost_wait_seconds_total', 'Waiting for more of the I/O budget, in seconds', 'counter', {
    table: 'costWait',
    operation: 'Count',
    scale: microseconds,
  }),
  io('container_fs_io_cost_indebt_seconds_total', 'Time in debt of the I/O budget, in seconds', 'counter', {
    table: 'costIndebt',
    operation: 'Count',
    scale: microseconds,
  }),
  io('container_fs_io_cost_indelay_seconds_total', 'Time held up for debt of the I/O budget, in seconds', 'counter', {
    table: 'costIndelay',
    operation: 'Count',
    scale: microseconds,
  }),
  {
    name: 'container_blkio_device_usage_total',
    help: 'Bytes moved, by device and operation',
    type: 'counter',
    values: ({ stats }, devices) =>
      stats.io.serviceBytes.flatMap((counts) =>
        Object.entries(counts.operations).map(([operation, value]) => ({
          value,
          labels: { device: deviceName(counts, devices), major: String(counts.major), minor: String(counts.minor), operation },
        })),
      ),
  },
];
