import type { ResolvedConfig } from '../config/resolve.ts';
import { LogRotation } from '../containers/log-rotation.ts';
import type { ConnectedRuntime } from '../cri/connect.ts';
import type { Image } from '../cri/types.ts';
import { systemClock } from '../host/clock.ts';
import { diskSpace } from '../host/disk.ts';
import { nodeFiles } from '../host/files-node.ts';
import { gzipFile } from '../host/gzip-file.ts';
import { ImageGc } from '../images/image-gc.ts';
import type { AgentMetrics } from '../observe/agent-metrics.ts';
import type { EventObject, EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';

export interface UpkeepInput {
  config: ResolvedConfig;
  runtime: Pick<ConnectedRuntime, 'runtime' | 'images'>;
  podLogsDir: string;
  log: Logger;
  events: EventRecorder;
  node: EventObject;
  metrics: Pick<AgentMetrics, 'imageCollected'>;
  /** An image was removed. */
  imageRemoved(id: string): void;
  /** What the runtime has. */
  imagesListed(images: readonly Image[]): void;
}

/** What keeps this machine's disk from filling up with logs and images. */
export function nodeUpkeep({ config, runtime, podLogsDir, log, events, node, metrics, imageRemoved, imagesListed }: UpkeepInput) {
  const clock = systemClock;
  const logRotation = new LogRotation({
    runtime: runtime.runtime,
    files: nodeFiles,
    gzip: gzipFile,
    clock,
    log,
    podLogsDir,
    policy: {
      intervalMs: config.containerLogMonitorIntervalMs,
      maxSize: config.containerLogMaxSizeBytes,
      maxFiles: config.containerLogMaxFiles,
      workers: config.containerLogMaxWorkers,
    },
  });
  const imageGc = new ImageGc({
    runtime: runtime.runtime,
    images: runtime.images,
    disk: diskSpace,
    collected: (reason) => metrics.imageCollected(reason),
    removed: imageRemoved,
    listed: imagesListed,
    clock,
    log,
    events,
    node,
    policy: {
      highPercent: config.imageGCHighThresholdPercent,
      lowPercent: config.imageGCLowThresholdPercent,
      minAgeMs: config.imageMinimumGCAgeMs,
      maxAgeMs: config.imageMaximumGCAgeMs,
    },
  });
  return { logRotation, imageGc };
}
