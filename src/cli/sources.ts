import type { ResolvedConfig } from '../config/resolve.ts';
import { systemClock } from '../host/clock.ts';
import type { EventRecorder } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { ManifestDir } from '../sources/manifest-dir.ts';
import { ManifestUrl } from '../sources/manifest-url.ts';
import type { PodSource } from '../sources/types.ts';

/** Where this node's configuration takes static pods from. */
export function podSources(config: ResolvedConfig, name: string, log: Logger, events: EventRecorder): PodSource[] {
  const clock = systemClock;
  const sources: PodSource[] = [];
  if (config.staticPodPath !== '') {
    const { staticPodPath: path, fileCheckFrequencyMs } = config;
    log.info('Adding static pod path', { path });
    sources.push(new ManifestDir({ path, nodeName: name, fileCheckFrequencyMs, clock, log, events }));
  }
  if (config.staticPodURL !== '') {
    const { staticPodURL: url, staticPodURLHeader: header, httpCheckFrequencyMs } = config;
    log.info('Adding pod URL', { URL: url });
    sources.push(new ManifestUrl({ url, header, httpCheckFrequencyMs, nodeName: name, clock, log, events }));
  }
  return sources;
}
