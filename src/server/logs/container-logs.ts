import type { ServerResponse } from 'node:http';
import { findContainer } from '../../api/pod.ts';
import { isCriError } from '../../cri/errors.ts';
import type { CriRuntime } from '../../cri/ports.ts';
import type { Clock } from '../../host/clock.ts';
import type { LogFile, LogFiles } from '../../host/log-file.ts';
import { PathWatch } from '../../host/watch-path.ts';
import { HttpError } from '../errors.ts';
import { findPod, type PodView } from '../pods.ts';
import { logContainerId } from './log-container.ts';
import { logOptions } from './log-options.ts';
import { readLog } from './read-log.ts';

export interface ContainerLogsDeps {
  pods: PodView;
  runtime: Pick<CriRuntime, 'containerStatus'>;
  files: LogFiles;
  /** Every log lies below it. */
  podLogsDir: string;
  clock: Clock;
  /** Gate PodLogsQuerySplitStreams. */
  splitStreams: boolean;
}

/** Where runtimes that link their log files keep them (docker's json-file driver). */
const LINK_TARGETS = ['/var/lib/docker/containers'];

/** Answers /containerLogs/{namespace}/{pod}/{container}. Throws HttpError before anything was sent. */
export async function containerLogs(
  deps: ContainerLogsDeps,
  [namespace = '', podName = '', container = '']: readonly string[],
  query: URLSearchParams,
  res: ServerResponse,
): Promise<void> {
  const { pods, runtime, files, podLogsDir, clock } = deps;
  const options = logOptions(query, clock.now(), deps.splitStreams);
  const pod = findPod(pods, namespace, podName);
  if (pod === undefined) throw new HttpError(404, `pod "${podName}" does not exist`);
  if (findContainer(pod, container) === undefined) throw new HttpError(404, `container "${container}" not found in pod "${podName}"`);

  let id: string;
  let path: string;
  let first: LogFile | undefined;
  try {
    id = logContainerId(pod, container, options.previous).replace(/^[^:]*:\/\//, '');
    path = (await runtime.containerStatus(id)).logPath;
    first = await files.open(path, podLogsDir, LINK_TARGETS);
  } catch (err) {
    throw new HttpError(400, err instanceof Error ? err.message : String(err));
  }
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  const blocks = readLog({
    options,
    async open() {
      const opened = first ?? (await files.open(path, podLogsDir, LINK_TARGETS));
      first = undefined;
      return opened;
    },
    async isRunning() {
      try {
        return (await runtime.containerStatus(id, { signal: gone.signal })).state === 'running';
      } catch (err) {
        // A runtime that restarts does not end the log of a container that runs on.
        return !isCriError(err, 'NotFound');
      }
    },
    watch: (changed) => new PathWatch(path, changed, () => {}),
    clock,
    signal: gone.signal,
  });
  res.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8', 'Transfer-Encoding': 'chunked', 'X-Content-Type-Options': 'nosniff' });
  res.flushHeaders();
  for await (const block of blocks) {
    if (gone.signal.aborted) return;
    if (!res.write(block)) await drained(res);
  }
  res.end();
}

/** Until the client took what was written, or is gone. */
function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.once('drain', done);
    res.once('close', done);
  });
}
