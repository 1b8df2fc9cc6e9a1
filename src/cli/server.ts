import type { ResolvedConfig } from '../config/resolve.ts';
import { maskConfig } from '../config/show.ts';
import type { KubeletConfiguration, KubeletFlags } from '../config/types.ts';
import { systemClock } from '../host/clock.ts';
import { nodeFiles } from '../host/files-node.ts';
import { systemLogFiles } from '../host/log-file.ts';
import type { KubeApi } from '../kube/api.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { servingFiles } from '../security/serving-files.ts';
import { type Authenticator, certificateAuthenticator, tokenAuthenticator } from '../server/auth/authenticate.ts';
import { type Authorizer, alwaysAllow, webhookAuthorizer } from '../server/auth/authorize.ts';
import { apiAccessReviewer, apiTokenReviewer } from '../server/auth/reviews.ts';
import type { Handler } from '../server/http.ts';
import { KubeletServer } from '../server/kubelet-server.ts';
import type { PodView } from '../server/pods.ts';
import { RequestMetrics } from '../server/request-metrics.ts';
import { StreamingHandler } from '../server/streaming/streaming-handler.ts';
import { TlsMaterial } from '../server/tls-material.ts';
import { tlsSettings } from '../server/tls-options.ts';
import { TlsServer } from '../server/tls-server.ts';
import type { Certificates } from './certificates.ts';
import type { RealNode } from './node.ts';
import { serverExtras } from './server-extras.ts';

export interface ServerInput {
  flags: KubeletFlags;
  config: KubeletConfiguration;
  resolved: ResolvedConfig;
  node: Pick<RealNode, 'kubelet' | 'nodeName' | 'runtime' | 'hostIPs'>;
  /** Where a serving certificate that was asked for comes to lie, and when it does. */
  certificates: Pick<Certificates, 'servingFile' | 'onServing'> | undefined;
  /** Undefined without an API server. */
  api: Pick<KubeApi, 'request'> | undefined;
  registry: Metrics;
  /** The endpoints that the read-only port has too. */
  readOnly: Handler;
  log: Logger;
  setVerbosity(level: number): void;
}

const SYSTEM_LOGS_DIR = '/var/log';

/** Builds the TLS port of the kubelet. Rejects when its certificate or its authentication cannot be had. */
export async function kubeletServer(input: ServerInput): Promise<TlsServer> {
  const { flags, config, resolved, node, registry, log } = input;
  const clock = systemClock;
  const { kubelet, runtime } = node;
  const requested = input.certificates?.servingFile;
  const files =
    requested === undefined
      ? await servingFiles(
          {
            tlsCertFile: resolved.tlsCertFile,
            tlsPrivateKeyFile: resolved.tlsPrivateKeyFile,
            certDir: flags.certDir,
            host: node.nodeName,
            addresses: node.hostIPs,
            now: clock.now(),
          },
          nodeFiles,
        )
      : { certFile: requested, keyFile: requested };
  const { settings, dropped } = tlsSettings(resolved);
  if (dropped.length > 0) log.warn('TLS cipher suites that are not available here are left out', { suites: dropped });
  const material = new TlsMaterial({
    ...files,
    // Until somebody has signed it, the port is there and no handshake succeeds (contract flags-config.md).
    mayComeLater: requested !== undefined,
    clientCAFile: resolved.authentication.x509.clientCAFile,
    settings,
    files: nodeFiles,
    clock,
    log,
  });
  input.certificates?.onServing(() => material.poke());
  const pods: PodView = {
    all: () => kubelet.pods(),
    observed: (uid) => kubelet.cache.get(uid as Parameters<typeof kubelet.cache.get>[0]),
    observedAll: () => kubelet.cache.all(),
    staticUid: (uid) => uid,
  };
  const server = new KubeletServer({
    clock,
    log,
    metrics: new RequestMetrics(registry, () => clock.monotonic() / 1000, 'readwrite'),
    authentication: { authenticators: authenticators(input), anonymous: resolved.authentication.anonymous.enabled },
    authorizer: authorizer(input),
    connections: {
      known: (socket) => listener.known(socket),
      checkedAgainstCurrentCa: (socket) => listener.checkedAgainstCurrentCa(socket),
    },
    pods,
    runtime: runtime.runtime,
    readOnly: input.readOnly,
    streaming: new StreamingHandler({
      pods,
      streaming: runtime.streaming,
      clock,
      log,
      idleTimeoutMs: resolved.streamingConnectionIdleTimeoutMs,
      translateWebSockets: resolved.gates.enabled('ExtendWebSocketsToKubelet'),
      webSocketTranslated: (subresource) =>
        registry
          .counter('kubelet_websocket_streaming_requests_total', '[ALPHA] WebSocket streaming requests translated here', ['subresource'])
          .inc({ subresource }),
    }),
    logs: {
      pods,
      runtime: runtime.runtime,
      files: systemLogFiles,
      podLogsDir: resolved.podLogsDir,
      clock,
      splitStreams: resolved.gates.enabled('PodLogsQuerySplitStreams'),
    },
    configz: () => ({ kubeletconfig: maskConfig(config) }),
    setVerbosity: input.setVerbosity,
    argv: process.argv,
    ...serverExtras({ flags, resolved, runtime, pods, log }),
    debuggingHandlers: resolved.enableDebuggingHandlers,
    systemLogHandler: resolved.enableSystemLogHandler,
    profilingHandler: resolved.enableProfilingHandler,
    debugFlagsHandler: resolved.enableDebugFlagsHandler,
    systemLogsDir: SYSTEM_LOGS_DIR,
  });
  const listener: TlsServer = new TlsServer({ address: resolved.address, port: resolved.port, material, requests: server, clock, log });
  return listener;
}

function authenticators({ resolved, api, log }: ServerInput): Authenticator[] {
  const { x509, webhook, anonymous } = resolved.authentication;
  if (anonymous.enabled) log.warn('Anonymous requests are let in to authorization', { field: 'authentication.anonymous.enabled' });
  const list: Authenticator[] = [];
  if (x509.clientCAFile !== '') list.push(certificateAuthenticator);
  if (webhook.enabled) {
    if (api === undefined) {
      throw new Error(
        'no client provided, cannot use webhook authentication: give --kubeconfig, or set authentication.webhook.enabled: false',
      );
    }
    list.push(tokenAuthenticator({ reviewer: apiTokenReviewer(api), cacheTtlMs: webhook.cacheTTLMs, clock: systemClock }));
  }
  return list;
}

function authorizer({ resolved, api, node, log }: ServerInput): Authorizer {
  const { mode, webhook } = resolved.authorization;
  if (mode !== 'Webhook') {
    log.warn('Every request that is authenticated is allowed', { field: 'authorization.mode', mode });
    return alwaysAllow;
  }
  if (api === undefined) {
    throw new Error('no client provided, cannot use webhook authorization: give --kubeconfig, or set authorization.mode: AlwaysAllow');
  }
  return webhookAuthorizer({
    reviewer: apiAccessReviewer(api),
    nodeName: node.nodeName,
    authorizedTtlMs: webhook.cacheAuthorizedTTLMs,
    unauthorizedTtlMs: webhook.cacheUnauthorizedTTLMs,
    clock: systemClock,
  });
}
