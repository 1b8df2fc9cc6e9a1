import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Container, HTTPGetAction } from '../../../src/api/types.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { httpProbe } from '../../../src/probes/http-probe.ts';
import { type HttpRequest, httpGetRequest } from '../../../src/probes/http-request.ts';
import { formatTarget } from '../../../src/probes/http-url.ts';
import { Schedule } from '../../../src/probes/schedule.ts';
import { type Checker, classOf, expectSame } from '../checker.ts';

const schedule = new Schedule(systemClock);

export const check: Checker = (c) => {
  switch (classOf(c)) {
    case 'status':
      return expectSame(c, () => status(c.in));
    case 'bytes':
      return expectSame(c, () => bytes(c.in));
    default:
      return expectSame(c, () =>
        shown(httpGetRequest(action(c.in), c.in['container'] as Container, String(c.in['podIP']), String(c.in['userAgent']))),
      );
  }
};

const action = (input: Record<string, unknown>) => input['httpGet'] as HTTPGetAction;

function shown(request: HttpRequest) {
  return { url: formatTarget(request.target), host: request.host, method: 'GET', headers: Object.fromEntries(request.headers) };
}

/** Servers of the kind that the record was made with: `/start` answers as told, `/final` is good, `/bad` is not. */
async function status(input: Record<string, unknown>) {
  const {
    code = 200,
    location = '',
    body = '',
    follow = false,
    note = '',
  } = input as {
    code?: number;
    location?: string;
    body?: string;
    follow?: boolean;
    note?: string;
  };
  const other = await serve(() => ({ code: 200, body: 'final' }));
  const server = await serve((req, own) => {
    if (req.url === '/final') return { code: 200, body: 'final' };
    if (req.url === '/bad') return { code: 503, body: 'bad' };
    const to = location.replace('<srv>', own).replace('<other>', other.at.replace('127.0.0.1', 'localhost'));
    return note.includes('2 s') ? undefined : { code, body, headers: to === '' ? {} : { Location: to } };
  });
  if (note.includes('refused')) await stop(server);
  try {
    const get = { path: note === '' ? '/start' : '', port: server.port };
    const request = httpGetRequest(get, { name: 'c' } as Container, '127.0.0.1', 'probe');
    const signal = new AbortController().signal;
    const { result, output } = await httpProbe(schedule, request, {
      timeoutMs: note === '' ? 10_000 : 100,
      signal,
      followElsewhere: follow,
    });
    return { result, output: output.replaceAll(server.at, '<srv>').replaceAll(other.at, '<other>') };
  } finally {
    await Promise.all([stop(server), stop(other)]);
  }
}

async function bytes(input: Record<string, unknown>) {
  const arrived: IncomingMessage[] = [];
  const server = await serve((req) => {
    arrived.push(req);
    return { code: 200, body: '' };
  });
  try {
    const request = httpGetRequest({ ...action(input), port: server.port }, { name: 'c' } as Container, '127.0.0.1', 'probe');
    await httpProbe(schedule, request, { timeoutMs: 10_000, signal: new AbortController().signal });
    const req = arrived[0];
    if (req === undefined) throw new Error('nothing arrived');
    const headers: Record<string, string[]> = {};
    for (let i = 0; i < req.rawHeaders.length; i += 2) {
      const [name = '', value = ''] = req.rawHeaders.slice(i, i + 2);
      if (name !== 'Host') headers[name] = [...(headers[name] ?? []), value];
    }
    return { proto: `HTTP/${req.httpVersion}`, requestURI: req.url, host: req.headers.host?.replace(server.at, '<srv>'), headers };
  } finally {
    await stop(server);
  }
}

interface Reply {
  code: number;
  body: string;
  headers?: Record<string, string>;
}

interface Serving {
  server: Server;
  port: number;
  /** `host:port`. */
  at: string;
}

/** A server on loopback; without a reply it does not answer. */
function serve(reply: (req: IncomingMessage, own: string) => Reply | undefined): Promise<Serving> {
  return new Promise((resolve) => {
    let at = '';
    const server = createServer((req, res) => {
      const r = reply(req, at);
      if (r !== undefined) res.writeHead(r.code, r.headers ?? {}).end(r.body);
    });
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      at = `127.0.0.1:${port}`;
      resolve({ server, port, at });
    });
  });
}

function stop({ server }: Serving): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
