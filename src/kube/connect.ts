import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { Logger } from '../observe/log.ts';
import type { KubeApi } from './api.ts';
import { Credentials } from './credentials.ts';
import { KubeClient } from './http-client.ts';
import { NodeTransport } from './node-transport.ts';
import { type RateLimiter, TokenBucketLimiter, unlimited } from './rate-limiter.ts';

export interface ConnectOptions {
  /** Path. */
  kubeconfig: string;
  /** As `userAgent` gives it. */
  userAgent: string;
  /** kubeAPIQPS, kubeAPIBurst. */
  qps: number;
  burst: number;
  /** eventRecordQPS (0: no limit), eventBurst. */
  eventQps: number;
  eventBurst: number;
  /** The lesser of nodeStatusUpdateFrequency and the lease's duration. Milliseconds. */
  heartbeatTimeoutMs: number;
  files: Pick<Files, 'read'>;
  clock: Clock;
  log: Logger;
  onRequest?(method: string, code: string, seconds: number): void;
}

/** The clients of the agent (contract: flags-config.md §8), over shared connections. */
export interface ApiServerClients {
  main: KubeApi;
  events: KubeApi;
  /** No limit of requests, so that a busy agent does not look dead. */
  heartbeat: KubeApi;
  credentials: Credentials;
  /** Closes the connections, which may be dead; requests under way fail. */
  reconnect(): void;
  /** Ends every request under way. */
  close(): void;
}

/**
 * Reads the kubeconfig; connects on first use, so that a server that is away is no error here. Rejects with
 * KubeconfigError. To be imported lazily: an agent without a kubeconfig needs none of this in memory.
 */
export async function connectApiServer(options: ConnectOptions): Promise<ApiServerClients> {
  const { kubeconfig, files, clock, log, userAgent, onRequest } = options;
  const credentials = await Credentials.load(kubeconfig, { files, clock, log });
  const transport = new NodeTransport({ server: credentials.server, identity: () => credentials.identity(), clock, log });
  const client = (limiter: RateLimiter, timeoutMs = 0) =>
    new KubeClient({ transport, auth: credentials, limiter, clock, log, userAgent, timeoutMs, ...(onRequest ? { onRequest } : {}) });
  return {
    main: client(new TokenBucketLimiter(clock, options.qps, options.burst)),
    events: client(new TokenBucketLimiter(clock, options.eventQps, options.eventBurst)),
    heartbeat: client(unlimited, options.heartbeatTimeoutMs),
    credentials,
    reconnect: () => transport.reconnect(),
    close: () => transport.close(),
  };
}
