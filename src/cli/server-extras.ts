import { lstat, mkdir, readdir } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { posix } from 'node:path';
import { flagValues } from '../config/kubelet-flags.ts';
import type { ResolvedConfig } from '../config/resolve.ts';
import type { KubeletFlags } from '../config/types.ts';
import { systemClock } from '../host/clock.ts';
import { filesystemSpace } from '../host/node-usage.ts';
import type { Logger } from '../observe/log.ts';
import { Checkpoints } from '../server/checkpoint.ts';
import { Profiler } from '../server/debug/profiler.ts';
import type { PodView } from '../server/pods.ts';
import { flagz, statusz } from '../server/zpages.ts';
import type { RealNode } from './node.ts';
import { kubernetesVersion } from './version.ts';

export interface ExtrasInput {
  flags: KubeletFlags;
  resolved: ResolvedConfig;
  runtime: RealNode['runtime'];
  pods: PodView;
  log: Logger;
}

/** What the server has for people who look into a node: checkpoints, profiles, /statusz and /flagz. */
export function serverExtras({ flags, resolved, runtime, pods, log }: ExtrasInput) {
  const clock = systemClock;
  const directory = posix.join(flags.rootDir, 'checkpoints');
  const { gates } = resolved;
  const zpages = {
    statusz: (req: IncomingMessage, res: ServerResponse) => {
      const startTimeMs = performance.timeOrigin;
      statusz({ startTimeMs, nowMs: clock.now(), version: kubernetesVersion.slice(1), engine: `node ${process.version}`, paths }, req, res);
    },
    flagz: (req: IncomingMessage, res: ServerResponse) => flagz(flagValues(flags), req, res),
  };
  return {
    checkpoints: gates.enabled('ContainerCheckpoint')
      ? new Checkpoints({
          pods,
          runtime: runtime.streaming,
          clock,
          log,
          directory,
          usage: () => archives(directory),
          makeDirectory: async () => void (await mkdir(directory, { recursive: true, mode: 0o700 })),
        })
      : undefined,
    profiler: new Profiler(clock),
    zpages,
    systemLogQuery: resolved.enableSystemLogQuery && gates.enabled('NodeLogQuery'),
  };
}

async function archives(directory: string) {
  const names = await readdir(directory).catch(() => []);
  const sizes = await Promise.all(
    names.map((name) =>
      lstat(posix.join(directory, name)).then(
        (info) => info.size,
        () => 0,
      ),
    ),
  );
  const space = await filesystemSpace(directory);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  return { archives: names.length, bytes, capacity: space?.capacity ?? 0, available: space?.available ?? 0 };
}

const paths = [
  '/attach',
  '/checkpoint',
  '/configz',
  '/containerLogs',
  '/debug/flags/v',
  '/debug/pprof',
  '/exec',
  '/flagz',
  '/healthz',
  '/logs',
  '/metrics',
  '/metrics/cadvisor',
  '/metrics/probes',
  '/metrics/resource',
  '/metrics/slis',
  '/pods',
  '/portForward',
  '/run',
  '/runningpods',
  '/stats/summary',
  '/statusz',
];
