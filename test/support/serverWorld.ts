import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../src/host/clock.ts';
import { systemClock } from '../../src/host/clock.ts';
import { silentLogger } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import type { ObservedPod } from '../../src/pleg/types.ts';
import { type Authenticator, certificateAuthenticator } from '../../src/server/auth/authenticate.ts';
import type { Authorizer } from '../../src/server/auth/authorize.ts';
import type { ConnectionLimitsOptions } from '../../src/server/connection-limits.ts';
import { KubeletServer, type KubeletServerDeps } from '../../src/server/kubelet-server.ts';
import { RequestMetrics } from '../../src/server/request-metrics.ts';
import { StreamingHandler } from '../../src/server/streaming/streaming-handler.ts';
import { TlsMaterial } from '../../src/server/tls-material.ts';
import { tlsSettings } from '../../src/server/tls-options.ts';
import { TlsServer } from '../../src/server/tls-server.ts';
import { type Authority, newAuthority } from '../e2e/cluster/pki.ts';
import type { KubeletClient } from './kubeletClient.ts';

/** The kubelet's TLS port in this process, on loopback, with one pod and a runtime that does as it is told. */
export interface ServerWorld extends AsyncDisposable {
  port: number;
  /** Signs the clients that are let in. */
  ca: Authority;
  client(commonName: string, organizations?: string[]): Promise<KubeletClient>;
  /** What its certificates are read from: `crt`, `key` and `ca`. */
  readonly files: Map<string, string>;
  /** What the runtime's streaming server does with an upgrade; closes it at first. */
  runtime: (req: IncomingMessage, socket: Duplex) => void;
  /** Connections to the runtime that are open. */
  readonly upstreamConnections: number;
  /** Requests that got past authentication and authorization. */
  readonly served: string[];
}

export interface ServerWorldOptions {
  authorizer: Authorizer;
  /** Beside certificates. */
  authenticators?: readonly Authenticator[];
  clock?: Clock;
  tlsMinVersion?: string;
  limits?: ConnectionLimitsOptions;
  more?: Partial<KubeletServerDeps>;
}

const pods = {
  all: () => [{ metadata: { name: 'p', namespace: 'd', uid: 'u' }, spec: { containers: [{ name: 'c' }] } }] as never,
  observed: () =>
    ({ containers: [{ id: 'id', name: 'c', state: 'running' }], sandboxes: [{ id: 's', state: 'ready' }] }) as unknown as ObservedPod,
  observedAll: () => [],
  staticUid: (uid: string) => uid,
};

export async function startServerWorld({
  authorizer,
  authenticators = [],
  clock = systemClock,
  tlsMinVersion = 'VersionTLS12',
  limits = { strangersPerAddress: 4_096, strangers: 4_096, total: 8_192 },
  more = {},
}: ServerWorldOptions): Promise<ServerWorld> {
  const stop = new AbortController();
  const ca = await newAuthority('clients');
  const serving = await ca.server('node', ['127.0.0.1']);
  const files = new Map([
    ['crt', serving.certPem],
    ['key', serving.keyPem],
    ['ca', ca.certPem],
  ]);
  const open = new Set<Duplex>();
  const served: string[] = [];
  const upstream = await startUpstream(open, (req, socket) => world.runtime(req, socket));
  const url = async () => `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/exec/token`;
  const material = new TlsMaterial({
    certFile: 'crt',
    keyFile: 'key',
    clientCAFile: 'ca',
    settings: tlsSettings({ tlsMinVersion, tlsCipherSuites: [], tlsCurvePreferences: [] }).settings,
    files: { read: async (path) => Buffer.from(files.get(path) ?? '') },
    clock,
    log: silentLogger,
  });
  const requests = new KubeletServer({
    clock,
    log: silentLogger,
    metrics: new RequestMetrics(createMetrics(), () => 0, 'readwrite'),
    authentication: { authenticators: [certificateAuthenticator, ...authenticators], anonymous: false },
    authorizer: async (user, attributes) => {
      const decision = await authorizer(user, attributes);
      if (decision.kind === 'allowed') served.push(`${user.name} ${attributes.verb} ${attributes.path}`);
      return decision;
    },
    connections: { known: (s) => server.known(s), checkedAgainstCurrentCa: (s) => server.checkedAgainstCurrentCa(s) },
    pods,
    runtime: { execSync: async () => ({ stdout: Buffer.from('ran'), stderr: Buffer.alloc(0), exitCode: 0 }) },
    readOnly: (_req, res) => void res.end('read-only'),
    streaming: new StreamingHandler({
      pods,
      streaming: { exec: url, attach: url, portForward: url },
      clock,
      log: silentLogger,
      idleTimeoutMs: 0,
      webSocketTranslated() {},
      translateWebSockets: true,
    }),
    configz: () => ({ kubeletconfig: {} }),
    setVerbosity: () => {},
    argv: ['kubelet'],
    checkpoints: undefined,
    zpages: { statusz: (_req, res) => void res.end('statusz'), flagz: (_req, res) => void res.end('flagz') },
    debuggingHandlers: true,
    systemLogHandler: true,
    systemLogQuery: false,
    systemLogsDir: '/nonexistent',
    profilingHandler: true,
    debugFlagsHandler: true,
    ...more,
  } as Partial<KubeletServerDeps> as KubeletServerDeps);
  const server = new TlsServer({ address: '127.0.0.1', port: 0, material, requests, clock, log: silentLogger, limits });
  await server.start(stop.signal);
  const port = server.port() ?? 0;
  const world: ServerWorld = {
    port,
    ca,
    files,
    served,
    runtime: (_req, socket) => void socket.destroy(),
    get upstreamConnections() {
      return open.size;
    },
    async client(commonName, organizations = []) {
      const { certPem: cert, keyPem: key } = await ca.client({ commonName, organizations });
      return { port, cert, key };
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.stop();
      upstream.closeAllConnections();
      for (const socket of open) socket.destroy();
      await new Promise((done) => upstream.close(done));
    },
  };
  return world;
}

async function startUpstream(open: Set<Duplex>, upgrade: (req: IncomingMessage, socket: Duplex) => void): Promise<Server> {
  const upstream = createServer((_req, res) => res.writeHead(500).end());
  upstream.on('upgrade', upgrade);
  upstream.on('connection', (socket) => {
    open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => open.delete(socket));
  });
  await new Promise<void>((done) => upstream.listen(0, '127.0.0.1', done));
  return upstream;
}
