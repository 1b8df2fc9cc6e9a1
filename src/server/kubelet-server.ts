import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { isCriError } from '../cri/errors.ts';
import type { CriRuntime } from '../cri/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { Logger } from '../observe/log.ts';
import { attributesOf } from './auth/attributes.ts';
import { type AuthenticationOptions, authenticate } from './auth/authenticate.ts';
import type { Authorizer } from './auth/authorize.ts';
import { credentialsOf } from './auth/credentials.ts';
import type { Checkpoints } from './checkpoint.ts';
import { setLogLevel } from './debug/flags.ts';
import { pprof } from './debug/pprof.ts';
import type { Profiler } from './debug/profiler.ts';
import { HttpError } from './errors.ts';
import { type Handler, onlyMethods, sendJson, sendText } from './http.ts';
import { type ContainerLogsDeps, containerLogs } from './logs/container-logs.ts';
import { answerNodeLogQuery } from './logs/node-log-answer.ts';
import { readNodeLogQuery } from './logs/node-log-query.ts';
import { nodeLogs } from './node-logs.ts';
import { type PodView, runningPods } from './pods.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { runCommand } from './run-command.ts';
import { refuseUpgrade, type StreamingHandler, type StreamingKind } from './streaming/streaming-handler.ts';
import { type Target, targetOf } from './target.ts';
import type { TlsRequests } from './tls-server.ts';

export interface KubeletServerDeps {
  clock: Clock;
  log: Logger;
  metrics: RequestMetrics;
  authentication: AuthenticationOptions;
  authorizer: Authorizer;
  /** Of the listener: connections whose sender is known, and handshakes that a new CA has outdated. */
  connections: { known(socket: IncomingMessage['socket']): void; checkedAgainstCurrentCa(socket: object): boolean };
  pods: PodView;
  runtime: Pick<CriRuntime, 'execSync'>;
  /** The endpoints that the read-only port has too. */
  readOnly: Handler;
  streaming: StreamingHandler;
  logs: ContainerLogsDeps;
  /** The configuration in use, secrets masked. */
  configz(): unknown;
  setVerbosity(level: number): void;
  /** The command line, for /debug/pprof/cmdline. */
  argv: readonly string[];
  profiler: Profiler;
  /** Undefined: the gate ContainerCheckpoint is off. */
  checkpoints: Checkpoints | undefined;
  zpages: Record<'statusz' | 'flagz', (req: IncomingMessage, res: ServerResponse) => void>;
  /** enableDebuggingHandlers. */
  debuggingHandlers: boolean;
  systemLogHandler: boolean;
  /** enableSystemLogQuery, with its gate. */
  systemLogQuery: boolean;
  profilingHandler: boolean;
  debugFlagsHandler: boolean;
  /** The directory behind /logs/. */
  systemLogsDir: string;
}

/** The endpoints of the kubelet's port. Contract http-api §4. */
export class KubeletServer implements TlsRequests {
  readonly #deps: KubeletServerDeps;

  constructor(deps: KubeletServerDeps) {
    this.#deps = deps;
  }

  upgrades(req: IncomingMessage): boolean {
    try {
      const { segments } = targetOf(req.url ?? '');
      return streamingKind(segments) !== undefined && (req.method === 'GET' || req.method === 'POST');
    } catch {
      return false;
    }
  }

  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let done: (() => void) | undefined;
    try {
      const target = targetOf(req.url ?? '');
      done = this.#deps.metrics.begin(req.method ?? '', target.segments);
      await this.#admit(req, target);
      await this.#route(req, res, target);
    } catch (err) {
      this.#fail(err, req, res);
    } finally {
      done?.();
    }
  }

  async upgrade(req: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const { metrics, streaming, log, debuggingHandlers } = this.#deps;
    // The client may go at any time, also before anybody else listens.
    client.on('error', () => client.destroy());
    let done: (() => void) | undefined;
    try {
      const { segments, url } = targetOf(req.url ?? '');
      done = metrics.begin(req.method ?? '', segments);
      await this.#admit(req, { segments, url, trailingSlash: false });
      const kind = streamingKind(segments);
      if (kind === undefined) throw new HttpError(404, '404 page not found\n');
      if (!debuggingHandlers) throw new HttpError(405, 'Debug endpoints are disabled.\n');
      await streaming.serve(kind, segments.slice(1), url, req, client, head);
    } catch (err) {
      if (err instanceof HttpError) refuseUpgrade(client, err.status, err.message, err.headers);
      else {
        log.error(err, 'Upgrade failed', { path: pathOnly(req) });
        refuseUpgrade(client, 500, 'Internal Server Error\n');
      }
    } finally {
      done?.();
    }
  }

  /** Throws HttpError unless the sender is known and may do this. */
  async #admit(req: IncomingMessage, { segments }: Target): Promise<void> {
    const { authentication, authorizer, connections, clock, log } = this.#deps;
    const credentials = credentialsOf(req, clock.now(), (socket) => connections.checkedAgainstCurrentCa(socket));
    const gone = new AbortController();
    const verdict = await authenticate(authentication, credentials, gone.signal);
    if (verdict.kind === 'bad') {
      log.debug(2, 'Unable to authenticate the request', { reason: verdict.reason, remote: req.socket.remoteAddress });
      throw new HttpError(401, 'Unauthorized');
    }
    const { user } = verdict;
    if (user.name !== 'system:anonymous') connections.known(req.socket);
    const attributes = attributesOf(req.method ?? '', segments, pathOnly(req));
    const { verb, subresources } = attributes;
    const decision = await authorizer(user, attributes);
    if (decision.kind === 'failed') {
      log.error(decision.error, 'Authorization error', { user: user.name, verb, subresource: decision.subresource });
      const asked = `user=${user.name}, verb=${verb}, resource=nodes, subresource=${decision.subresource}`;
      throw new HttpError(500, `Authorization error (${asked})`);
    }
    if (decision.kind === 'denied') {
      log.debug(2, 'Forbidden', { user: user.name, verb, subresources });
      throw new HttpError(403, `Forbidden (user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(' ')}])\n`);
    }
  }

  async #route(req: IncomingMessage, res: ServerResponse, target: Target): Promise<void> {
    const { readOnly, configz, streaming, pods, debuggingHandlers, checkpoints } = this.#deps;
    const { segments, url } = target;
    const [first = '', ...rest] = segments;
    const kind = streamingKind(segments);
    if (!debuggingHandlers && debugPaths.has(first)) throw new HttpError(405, 'Debug endpoints are disabled.\n');
    if (kind !== undefined) {
      onlyMethods(req, ['GET', 'POST']);
      return streaming.refuse(kind, rest, url, req);
    }
    switch (first) {
      case 'configz':
        if (!debuggingHandlers) throw new HttpError(404, '404 page not found\n');
        return sendJson(res, configz());
      case 'runningpods':
        onlyMethods(req, ['GET']);
        return sendJson(res, runningPods(pods));
      case 'checkpoint':
        if (!debuggingHandlers || checkpoints === undefined) throw new HttpError(404, '404 page not found\n');
        onlyMethods(req, ['POST']);
        return checkpoints.serve(rest, url, res);
      case 'statusz':
      case 'flagz':
        if (!debuggingHandlers || rest.length > 0) throw new HttpError(404, '404 page not found\n');
        return this.#deps.zpages[first](req, res);
      case 'containerLogs':
        onlyMethods(req, ['GET']);
        if (rest.length !== 3) throw new HttpError(404, '404: Page Not Found');
        return containerLogs(this.#deps.logs, rest, url.searchParams, res);
      case 'run':
        onlyMethods(req, ['POST']);
        return runCommand(this.#deps, rest, url, res);
      case 'logs':
        return this.#nodeLogs(req, res, target);
      case 'debug':
        return this.#debug(req, res, url, rest);
      default:
        return readOnly(req, res, url);
    }
  }

  async #nodeLogs(req: IncomingMessage, res: ServerResponse, { segments, trailingSlash, url }: Target): Promise<void> {
    const { systemLogHandler, systemLogQuery, systemLogsDir, clock } = this.#deps;
    if (!systemLogHandler) throw new HttpError(405, 'logs endpoint is disabled.\n');
    const query = systemLogQuery ? readNodeLogQuery(url.searchParams) : undefined;
    if (query === undefined) return nodeLogs(systemLogsDir, segments.slice(1), trailingSlash, req.method ?? '', res);
    if (segments.length > 1) throw new HttpError(406, 'path not allowed in query mode\n');
    await answerNodeLogQuery({ root: systemLogsDir, clock }, query, req, res);
  }

  async #debug(req: IncomingMessage, res: ServerResponse, url: URL, [what = '', item = '', ...more]: readonly string[]): Promise<void> {
    const { debugFlagsHandler, profilingHandler, profiler, argv } = this.#deps;
    if (what === 'flags' && item === 'v' && more.length === 0) {
      if (!debugFlagsHandler) throw new HttpError(405, 'flags endpoint is disabled.\n');
      return setLogLevel(this.#deps, req, res);
    }
    if (what !== 'pprof' || more.length > 0) throw new HttpError(404, '404 page not found\n');
    if (!profilingHandler) throw new HttpError(405, 'profiling endpoint is disabled.\n');
    onlyMethods(req, ['GET', 'POST']);
    await pprof(item, url, { profiler, argv }, req, res);
  }

  #fail(err: unknown, req: IncomingMessage, res: ServerResponse): void {
    if (res.headersSent) {
      if (!res.writableEnded) {
        this.#deps.log.debug(2, 'Request broke off', { path: pathOnly(req), reason: err instanceof Error ? err.message : String(err) });
        res.destroy();
      }
      return;
    }
    if (err instanceof HttpError) {
      for (const [name, value] of Object.entries(err.headers)) res.setHeader(name, value);
      // What was not authenticated gets no second request on this connection's body.
      if (err.status === 401) res.setHeader('Connection', 'close');
      sendText(res, err.status, err.message);
      return;
    }
    this.#deps.log.error(err, 'Request failed', { path: pathOnly(req), method: req.method });
    sendText(res, 500, isCriError(err) ? `Internal Error: ${err.message}` : 'Internal Server Error\n');
  }
}

/** Answered 405 when debugging handlers are off. */
const debugPaths: ReadonlySet<string> = new Set(['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'debug', 'logs']);

function streamingKind([first]: readonly string[]): StreamingKind | undefined {
  return first === 'exec' || first === 'attach' || first === 'portForward' ? first : undefined;
}

/** Never the query: commands stand in it. */
const pathOnly = (req: IncomingMessage) => (req.url ?? '').split('?', 1)[0] ?? '';
