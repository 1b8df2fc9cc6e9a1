import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

const resolutionMs = 20;

/**
 * process_* as other components have them, and the delay of the event loop (from the second scrape on). `openFiles` counts the process's open file
 * descriptors.
 */
export function observeProcess(metrics: Metrics, openFiles: () => Promise<number>): void {
  // Watching the loop wakes the process 50 times a second: only where somebody reads the figures.
  let delay: ReturnType<typeof monitorEventLoopDelay> | undefined;
  // Counters in the exposition, though their values are read: gauges would carry the wrong type.
  const cpu = metrics.counter('process_cpu_seconds_total', 'User and system CPU time in seconds');
  const memory = metrics.gauge('process_resident_memory_bytes', 'Resident memory in bytes');
  const heap = metrics.gauge('kts_heap_used_bytes', 'Memory that objects take');
  const files = metrics.gauge('process_open_fds', 'Open file descriptors');
  metrics.gauge('process_start_time_seconds', 'Start of the process, seconds since 1970').set(performance.timeOrigin / 1000);
  const loop = metrics.gauge('kts_event_loop_delay_seconds', 'Delay of the event loop since the last scrape', ['quantile']);
  let counted = 0;
  metrics.collect(async () => {
    const { user, system } = process.cpuUsage();
    const total = (user + system) / 1e6;
    cpu.inc({}, Math.max(total - counted, 0));
    counted = total;
    memory.set(process.memoryUsage.rss());
    heap.set(process.memoryUsage().heapUsed);
    files.set(await openFiles());
    if (delay === undefined) {
      delay = monitorEventLoopDelay({ resolution: resolutionMs });
      delay.enable();
      return;
    }
    // Node gives the time between two looks, of which the resolution is no delay.
    for (const quantile of [50, 99, 100]) {
      loop.set(Math.max(0, delay.percentile(quantile) / 1e9 - resolutionMs / 1000), { quantile: String(quantile / 100) });
    }
    delay.reset();
  });
}
