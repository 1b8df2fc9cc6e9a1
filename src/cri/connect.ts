import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import { ServiceCaller } from './caller.ts';
import { RuntimeConnection } from './connection.ts';
import { endpointTarget } from './endpoint.ts';
import { ImageClient } from './image-client.ts';
import { Instrumentation, type PendingCall, type RuntimeMetrics } from './instrumentation.ts';
import type { CriCheckpoint, CriImageFs, CriImages, CriRuntime, CriSandboxResize, CriStats, CriStreaming, CriVerbose } from './ports.ts';
import { loadCriProtocol } from './protocol.ts';
import { RuntimeClient } from './runtime-client.ts';
import { StatsClient } from './stats-client.ts';
import { StreamingClient } from './streaming-client.ts';
import type { RuntimeVersion } from './types.ts';

export interface ConnectOptions {
  /** containerRuntimeEndpoint. */
  endpoint: string;
  /** imageServiceEndpoint; empty or absent means the same as `endpoint`. */
  imageEndpoint?: string;
  /** runtimeRequestTimeout in milliseconds. */
  timeoutMs: number;
  clock: Clock;
  log: Logger;
  metrics: RuntimeMetrics;
  /** Feature gate CRIListStreaming. */
  listStreaming?: boolean;
  signal?: AbortSignal;
}

/** A runtime that answered. Its connections come back by themselves after a loss. */
export interface ConnectedRuntime {
  runtime: CriRuntime & CriSandboxResize & CriVerbose;
  images: CriImages & CriImageFs;
  streaming: CriStreaming & CriCheckpoint;
  stats: CriStats;
  /** What it answered to the first Version. */
  version: RuntimeVersion;
  /** Calls that have not returned, oldest first. */
  pendingCalls(): PendingCall[];
  /** Ends every call and closes the sockets. */
  close(): void;
}

/**
 * Connects to the runtime and asks for its version. Rejects when an endpoint is malformed, when it does not answer
 * within `timeoutMs`, or when it does not speak CRI v1 (contract: compat-matrix.md §1).
 */
export async function connectRuntime(options: ConnectOptions): Promise<ConnectedRuntime> {
  const { clock, log, metrics, timeoutMs, listStreaming = false } = options;
  const runtimeTarget = readEndpoint(options.endpoint, log);
  const imageTarget = options.imageEndpoint ? readEndpoint(options.imageEndpoint, log) : runtimeTarget;
  const instrumentation = new Instrumentation(clock, metrics);
  const protocol = loadCriProtocol();
  const connection = new RuntimeConnection(runtimeTarget, clock, instrumentation);
  const imageConnection = imageTarget === runtimeTarget ? connection : new RuntimeConnection(imageTarget, clock, instrumentation);
  const close = () => {
    connection.close();
    if (imageConnection !== connection) imageConnection.close();
  };

  const rpc = new ServiceCaller(connection, protocol.runtime, timeoutMs, listStreaming);
  const runtime = new RuntimeClient(rpc, protocol.signals);
  const images = new ImageClient(new ServiceCaller(imageConnection, protocol.images, timeoutMs, listStreaming));
  try {
    const call = options.signal ? { signal: options.signal } : {};
    const [version] = await Promise.all([
      runtime.version(call),
      // A second endpoint must be an image service; the first one is known by its Version.
      imageConnection === connection ? undefined : images.imageFilesystems(call),
    ]);
    checkVersion(version, options.endpoint);
    log.debug(2, 'Connected to the container runtime', {
      endpoint: options.endpoint,
      runtimeName: version.runtimeName,
      runtimeVersion: version.runtimeVersion,
    });
    return {
      runtime,
      images,
      streaming: new StreamingClient(rpc, protocol.signals),
      stats: new StatsClient(rpc),
      version,
      pendingCalls: () => instrumentation.pendingCalls(),
      close,
    };
  } catch (err) {
    close();
    const reason = err instanceof Error ? err.message : String(err);
    throw new Error(`the container runtime at ${options.endpoint} does not answer as CRI v1: ${reason}`, { cause: err });
  }
}

function readEndpoint(endpoint: string, log: Logger): string {
  const { target, deprecated } = endpointTarget(endpoint);
  if (deprecated) log.warn('An endpoint without a scheme is deprecated, use the full form', { endpoint, fullForm: `unix://${endpoint}` });
  return target;
}

function checkVersion(version: RuntimeVersion, endpoint: string): void {
  for (const field of ['version', 'runtimeName', 'runtimeVersion', 'runtimeApiVersion'] as const) {
    if (version[field] === '') throw new Error(`its Version answer has no ${field}`);
  }
  if (version.version !== '0.1.0') throw new Error(`it speaks version "${version.version}" at ${endpoint}, "0.1.0" is needed`);
}
