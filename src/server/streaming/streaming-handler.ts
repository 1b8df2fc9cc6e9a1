import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { findContainer } from '../../api/pod.ts';
import type { Pod } from '../../api/types.ts';
import { type CriError, criErrorText, isCriError } from '../../cri/errors.ts';
import type { CriStreaming } from '../../cri/ports.ts';
import type { Clock } from '../../host/clock.ts';
import type { Logger } from '../../observe/log.ts';
import { HttpError } from '../errors.ts';
import { findPod, type PodView, readySandbox, runningContainer } from '../pods.ts';
import { bridgeExec, type ExecStreams } from './exec-bridge.ts';
import { headersForRuntime, proxyBytes, switchingProtocols } from './raw-proxy.ts';
import { BadOptions, portsOf, streamsOf, tunnelProtocol, V5_PROTOCOL, wantsTranslation } from './streaming-options.ts';
import { TUNNEL_PREFIX, tunnel } from './tunnel.ts';
import { dialUpstream, UpgradeRefused } from './upstream.ts';
import { acceptKey, handshakeFault } from './websocket-frames.ts';

export interface StreamingDeps {
  pods: PodView;
  streaming: CriStreaming;
  clock: Clock;
  log: Logger;
  /** streamingConnectionIdleTimeout in milliseconds; 0 for none. */
  idleTimeoutMs: number;
  /** A WebSocket that was translated or unpacked here: exec, attach or portforward. */
  webSocketTranslated(subresource: string): void;
  /** Gate ExtendWebSocketsToKubelet. */
  translateWebSockets: boolean;
}

export type StreamingKind = 'exec' | 'attach' | 'portForward';

/** A request that is understood; `begin` asks the runtime for the URL of a session. */
interface Plan {
  kind: StreamingKind;
  begin(): Promise<string>;
  streams: ExecStreams | undefined;
}

/** A session that has begun. */
interface Session {
  /** Resolves once both connections are closed. */
  ended: Promise<void>;
}

/** Shared by a runtime with a limit on sessions under way. Contract http-api §6: the life of its URLs. */
const RETRY_AFTER_SECONDS = '60';

/** exec, attach and portForward: the runtime serves the session, the bytes pass through here. */
export class StreamingHandler {
  readonly #deps: StreamingDeps;
  #sessions = 0;

  constructor(deps: StreamingDeps) {
    this.#deps = deps;
  }

  /** Sessions under way. */
  get sessions(): number {
    return this.#sessions;
  }

  /** What to answer when such a request asks for no upgrade. Throws HttpError always. */
  refuse(kind: StreamingKind, path: readonly string[], url: URL, req: IncomingMessage): never {
    this.#plan(kind, path, url, req);
    throw new HttpError(400, 'Upgrade request required');
  }

  /** Serves the session until both connections are closed. Throws HttpError while the client was told nothing yet. */
  async serve(kind: StreamingKind, path: readonly string[], url: URL, req: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const plan = this.#plan(kind, path, url, req);
    const gone = new AbortController();
    client.once('close', () => gone.abort());
    let session: Session;
    try {
      session = await this.#connect(plan, req, client, head, gone.signal);
    } catch (err) {
      throw httpError(err);
    }
    this.#sessions += 1;
    try {
      await session.ended;
    } finally {
      this.#sessions -= 1;
    }
  }

  async #connect(plan: Plan, req: IncomingMessage, client: Duplex, head: Buffer, signal: AbortSignal): Promise<Session> {
    const { clock, translateWebSockets, webSocketTranslated, idleTimeoutMs } = this.#deps;
    const translated = translateWebSockets && plan.streams !== undefined && wantsTranslation(req.headers);
    const tunnelled = translateWebSockets && plan.kind === 'portForward' ? tunnelProtocol(req.headers) : undefined;
    if (translated || tunnelled !== undefined) {
      const fault = handshakeFault(req.headers);
      if (fault !== undefined) throw new HttpError(400, `unable to upgrade: ${fault}`);
      webSocketTranslated(plan.kind.toLowerCase());
    }
    const url = await plan.begin();
    const spdy = (protocol: string) => ['Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1', 'X-Stream-Protocol-Version', protocol];
    const direct = { method: req.method === 'GET' ? 'GET' : 'POST', headers: headersForRuntime(req) } as const;
    const how = translated
      ? { method: 'POST' as const, headers: spdy('v4.channel.k8s.io') }
      : tunnelled === undefined
        ? direct
        : { method: 'POST' as const, headers: spdy(tunnelled.slice(TUNNEL_PREFIX.length)) };
    const upstream = await dialUpstream({ url, ...how, clock, signal });
    if (signal.aborted) {
      upstream.socket.destroy();
      throw new HttpError(499, 'the client is gone');
    }
    const deps = { clock, idleTimeoutMs };
    if (plan.streams !== undefined && translated) {
      acceptWebSocket(client, req, V5_PROTOCOL);
      return { ended: bridgeExec(client, head, upstream, plan.streams, deps) };
    }
    if (tunnelled !== undefined) {
      acceptWebSocket(client, req, tunnelled);
      return { ended: tunnel(client, head, upstream, deps) };
    }
    return { ended: proxyBytes(client, head, upstream, deps) };
  }

  #plan(kind: StreamingKind, path: readonly string[], url: URL, req: IncomingMessage): Plan {
    const { pods, streaming } = this.#deps;
    const query = url.searchParams;
    const [namespace = '', name = '', ...rest] = path;
    try {
      if (kind === 'portForward') {
        const ports = portsOf(query, req.headers);
        const pod = podOf(pods, namespace, name, rest[0]);
        return {
          kind,
          streams: undefined,
          begin: () => {
            const sandbox = readySandbox(pods, pod.metadata.uid);
            if (sandbox === undefined) throw new HttpError(500, `pod not found ("${name}_${namespace}")`);
            return streaming.portForward(sandbox, ports);
          },
        };
      }
      const streams = streamsOf(query);
      const [uid, container = ''] = rest.length > 1 ? rest : [undefined, rest[0]];
      const pod = podOf(pods, namespace, name, uid);
      const containerId = () => {
        const id = runningContainer(pods, pod.metadata.uid, container);
        if (id === undefined) throw new HttpError(500, `container not found ("${container}")`);
        return id;
      };
      if (kind === 'exec') {
        return { kind, streams, begin: () => streaming.exec({ containerId: containerId(), cmd: query.getAll('command'), ...streams }) };
      }
      // Whether it is a terminal is the container's matter, not the request's.
      const tty = findContainer(pod, container)?.container.tty === true;
      const attached = { ...streams, tty, stderr: query.get('error') === '1' && !tty };
      return { kind, streams: attached, begin: () => streaming.attach({ containerId: containerId(), ...attached }) };
    } catch (err) {
      throw err instanceof BadOptions ? new HttpError(400, err.message) : err;
    }
  }
}

function podOf(pods: PodView, namespace: string, name: string, uid: string | undefined): Pod {
  const pod = findPod(pods, namespace, name);
  if (pod === undefined) throw new HttpError(404, 'pod does not exist');
  if (uid !== undefined && uid !== '' && pods.staticUid(uid) !== pod.metadata.uid) throw new HttpError(404, 'pod not found');
  return pod;
}

function acceptWebSocket(client: Duplex, req: IncomingMessage, protocol: string): void {
  const key = req.headers['sec-websocket-key'] ?? '';
  const headers = ['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Accept', acceptKey(key)];
  client.write(switchingProtocols([...headers, 'Sec-WebSocket-Protocol', protocol]));
}

/** Contract http-api §6: NotFound is 404, ResourceExhausted 429, all else 500. */
function httpError(err: unknown): Error {
  if (err instanceof UpgradeRefused) return new HttpError(err.status, err.message);
  if (!isCriError(err)) return err instanceof Error ? err : new Error(String(err));
  return new HttpError(statusOf(err), criErrorText(err), err.code === 'ResourceExhausted' ? { 'Retry-After': RETRY_AFTER_SECONDS } : {});
}

function statusOf({ code }: CriError): number {
  if (code === 'NotFound') return 404;
  return code === 'ResourceExhausted' ? 429 : 500;
}

/** Answers an upgrade request that is not granted, and closes the connection. */
export function refuseUpgrade(client: Duplex, status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
  if (client.destroyed || client.writableEnded) return;
  const body = Buffer.from(text);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}`,
    'Content-Type: text/plain; charset=utf-8',
    'X-Content-Type-Options: nosniff',
    `Content-Length: ${body.length}`,
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  client.write(`${lines.join('\r\n')}\r\n\r\n`);
  client.end(body, () => client.destroy());
}
