import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Container, Probe } from '../../src/api/types.ts';
import { CriError } from '../../src/cri/errors.ts';
import type { CriRuntime } from '../../src/cri/ports.ts';
import { systemClock } from '../../src/host/clock.ts';
import { Hooks } from '../../src/probes/hooks.ts';
import { Probers } from '../../src/probes/runner.ts';
import { Schedule } from '../../src/probes/schedule.ts';
import { selfSigned } from '../../src/security/self-signed.ts';
import { expandStaticCommand } from '../../src/sync/env-expansion.ts';
import { closedPort, fullListener, grpcHealthServer, httpServer, type ProbeServer, tcpServer } from '../support/probe-servers.ts';

/** The probers against servers of this machine: what each kind makes of good, bad and hostile answers. */
describe('probers', () => {
  const schedule = new Schedule(systemClock);
  let exec: CriRuntime['execSync'] = async () => Promise.reject(new Error('no exec'));
  const runtime: Pick<CriRuntime, 'execSync'> = { execSync: (...args) => exec(...args) };
  const probers = new Probers({ runtime, schedule, expandCommand: (c, env) => expandStaticCommand(c, env) ?? [] });
  const pod = { metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [] } };
  const live = new AbortController().signal;
  function run(spec: Probe, over: { container?: Partial<Container>; signal?: AbortSignal; podIp?: string } = {}) {
    const container: Container = { name: 'c', livenessProbe: { timeoutSeconds: 1, ...spec }, ...over.container };
    return probers.run({ pod, container, type: 'liveness', containerId: 'id', podIp: over.podIp ?? '127.0.0.1' }, over.signal ?? live);
  }
  const servers: ProbeServer[] = [];
  const kept = async (server: Promise<ProbeServer>) => {
    servers.push(await server);
    return (await server).port;
  };
  after(async () => {
    for (const s of servers) await s.close();
  });

  describe('httpGet', () => {
    let port = 0;
    let other = 0;
    before(async () => {
      other = await kept(httpServer((_req, res) => res.end('elsewhere')));
      port = await kept(
        httpServer((req, res) => {
          const url = req.url ?? '';
          if (url === '/ok') res.end('fine');
          else if (url === '/late') setTimeout(() => res.end('late'), 1500).unref();
          else if (url === '/elsewhere') res.writeHead(302, { Location: `http://localhost:${other}/` }).end('moved');
          else if (url === '/other-port') res.writeHead(302, { Location: `http://127.0.0.1:${other}/` }).end();
          else if (url === '/trickle') {
            res.write('x');
            setInterval(() => res.write('x'), 100).unref();
          } else if (url === '/flood') {
            const more = () => {
              while (!res.destroyed && res.write('x'.repeat(65_536)));
              if (!res.destroyed) res.once('drain', more);
            };
            more();
          } else if (url === '/silent') req.socket.on('data', () => undefined);
          else if (url === '/gone') req.socket.destroy();
          else res.writeHead(404).end();
        }),
      );
    });
    const get = (path: string) => run({ httpGet: { path, port } });

    it('takes an answer', async () => assert.deepEqual(await get('/ok'), { result: 'success', output: 'fine' }));
    it('fails on 404', async () =>
      assert.deepEqual(await get('/no'), { result: 'failure', output: 'HTTP probe failed with statuscode: 404' }));
    it('fails on a port that nobody listens on', async () => {
      const closed = await closedPort();
      const { result, output } = await run({ httpGet: { port: closed } });
      assert.deepEqual(
        [result, output],
        ['failure', `Get "http://127.0.0.1:${closed}": dial tcp 127.0.0.1:${closed}: connect: connection refused`],
      );
    });
    it('fails when the answer comes after the time-out', async () => {
      const began = performance.now();
      const { result, output } = await get('/late');
      assert.equal(result, 'failure');
      assert.match(output, /context deadline exceeded \(Client\.Timeout exceeded while awaiting headers\)$/);
      assert.ok(performance.now() - began < 1400, 'not later than the time-out');
    });
    it('warns of a redirect to another host, without going there; another port of the host is followed', async () => {
      assert.deepEqual(await get('/elsewhere'), { result: 'warning', output: 'Probe terminated redirects, Response body: moved' });
      assert.deepEqual(await get('/other-port'), { result: 'success', output: 'elsewhere' });
    });
    it('a body that trickles for ever is no result, and ends at the time-out', async () => {
      const began = performance.now();
      await assert.rejects(get('/trickle'), /while reading body/);
      assert.ok(performance.now() - began < 1400);
    });
    it('of a flood the first 10 KiB are read', async () => {
      const { result, output } = await get('/flood');
      assert.deepEqual([result, output.length], ['success', 10_240]);
    });
    it('fails on a connection that closes without an answer', async () => {
      assert.match((await get('/gone')).output, /: (EOF|.*connection reset by peer)$/);
    });
    it('fails on a server that speaks no HTTP', async () => {
      const ssh = await kept(tcpServer((s) => void s.write('SSH-2.0-OpenSSH_9.6\r\n\r\n')));
      assert.match((await run({ httpGet: { port: ssh } })).output, /malformed HTTP response "SSH-2\.0/);
    });
    it('fails on a name that does not resolve, and on plain HTTP where TLS is expected', async () => {
      assert.equal((await run({ httpGet: { port, host: 'no-such-host.invalid' } })).result, 'failure');
      const { output } = await run({ httpGet: { port, scheme: 'HTTPS' } });
      assert.match(output, /server gave HTTP response to HTTPS client$/);
    });
    it('takes any certificate, and follows a redirect from HTTPS to the same host', async () => {
      const now = Date.now();
      const { certPem, keyPem } = await selfSigned({ host: 'somebody.else', now });
      const server = createHttps({ cert: certPem, key: keyPem }, (req, res) => {
        if (req.url === '/moved') res.writeHead(301, { Location: '/ok' }).end();
        else res.end('safe');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const tls = (server.address() as AddressInfo).port;
      try {
        for (const path of ['/ok', '/moved'])
          assert.deepEqual(await run({ httpGet: { path, port: tls, scheme: 'HTTPS' } }), { result: 'success', output: 'safe' });
      } finally {
        server.closeAllConnections();
        server.close();
      }
    });
    it('is given up on an abort', async () => {
      const abort = new AbortController();
      const probing = run({ httpGet: { path: '/silent', port } }, { signal: abort.signal });
      setImmediate(() => abort.abort(new Error('given up')));
      await assert.rejects(probing, /given up/);
      await assert.rejects(run({ httpGet: { port } }, { signal: abort.signal }), /given up/);
    });
    it('a hook takes any answer, and tries plain HTTP where TLS finds none, without credentials', async () => {
      const seen: (string | undefined)[] = [];
      const plain = await kept(
        httpServer((req, res) => {
          seen.push(req.headers.authorization, req.headers['user-agent']);
          res.writeHead(500).end();
        }),
      );
      const hooks = new Hooks({ runtime, clock: systemClock });
      const httpGet = { port: plain, scheme: 'HTTPS', httpHeaders: [{ name: 'authorization', value: 'Basic eA==' }] };
      await hooks.run({ httpGet }, { pod, container: { name: 'c' }, containerId: 'id', podIps: ['127.0.0.1'] }, live);
      assert.deepEqual(seen, [undefined, 'kube-lifecycle/1.37']);
      const closed = await closedPort();
      await assert.rejects(
        hooks.run({ httpGet: { port: closed } }, { pod, container: { name: 'c' }, containerId: 'id', podIps: ['127.0.0.1'] }, live),
        /connection refused/,
      );
    });
  });

  describe('tcpSocket', () => {
    it('connects, by the name of a port too', async () => {
      const port = await kept(tcpServer(() => undefined));
      const ports = [{ name: 'web', containerPort: port }];
      assert.deepEqual(await run({ tcpSocket: { port: 'web' } }, { container: { ports } }), { result: 'success', output: '' });
    });
    it('fails on a closed port, and when nobody answers in time', async () => {
      const port = await closedPort();
      assert.deepEqual(await run({ tcpSocket: { port } }), {
        result: 'failure',
        output: `dial tcp 127.0.0.1:${port}: connect: connection refused`,
      });
      const full = await fullListener();
      servers.push(full);
      const began = performance.now();
      assert.deepEqual(await run({ tcpSocket: { port: full.port } }), {
        result: 'failure',
        output: `dial tcp 127.0.0.1:${full.port}: i/o timeout`,
      });
      assert.ok(performance.now() - began < 1400);
    });
    it('a port without a number is no result', async () => {
      await assert.rejects(run({ tcpSocket: { port: 'nobody' } }), /port "nobody" not found/);
    });
  });

  describe('grpc', () => {
    it('SERVING is a success, anything else a failure with its name', async () => {
      const port = await kept(grpcHealthServer((service) => (service === 'sick' ? 2 : 1)));
      assert.deepEqual(await run({ grpc: { port } }), { result: 'success', output: 'service healthy' });
      assert.deepEqual(await run({ grpc: { port, service: 'sick' } }), {
        result: 'failure',
        output: 'service unhealthy (responded with "NOT_SERVING")',
      });
    });
    it('fails where nobody listens, where nobody answers, and on plain HTTP', async () => {
      const closed = await closedPort();
      assert.match((await run({ grpc: { port: closed } })).output, /^timeout: failed to connect service "127\.0\.0\.1:[0-9]+" within 1s/);
      const silent = await kept(tcpServer((s) => void s.resume()));
      assert.equal((await run({ grpc: { port: silent } })).result, 'failure');
      const http = await kept(httpServer((_req, res) => res.end('no')));
      assert.equal((await run({ grpc: { port: http } })).result, 'failure');
    });
  });

  describe('exec', () => {
    const answered =
      (exitCode: number, stdout: string, stderr = '') =>
      async () => ({ exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) });
    it('0 is a success, the output of both streams is kept to 10 KiB', async () => {
      exec = answered(0, 'out', 'err');
      assert.deepEqual(await run({ exec: { command: ['x'] } }), { result: 'success', output: 'outerr' });
      exec = answered(3, 'x'.repeat(20_000), 'err');
      assert.deepEqual(await run({ exec: { command: ['x'] } }), { result: 'failure', output: 'x'.repeat(10_240) });
    });
    it('puts in what stands in the pod, and passes the time-out', async () => {
      const calls: unknown[] = [];
      exec = async (id, command, timeout) => {
        calls.push([id, command, timeout]);
        return answered(0, '')();
      };
      const env = [{ name: 'A', value: 'a' }];
      await run({ exec: { command: ['$(A)', '$(B)', '$$(A)'] }, timeoutSeconds: 7 }, { container: { env } });
      assert.deepEqual(calls, [['id', ['a', '$(B)', '$(A)'], 7]]);
    });
    it('a command that was stopped at its time-out failed; one that could not run gave no result', async () => {
      exec = async () => Promise.reject(new CriError('DeadlineExceeded', 'ExecSync', 'timeout 1s exceeded'));
      assert.deepEqual(await run({ exec: { command: ['sleep', '9'] } }), {
        result: 'failure',
        output: 'command timed out: "sleep 9" timed out after 1s',
      });
      exec = async () => Promise.reject(new CriError('Unavailable', 'ExecSync', 'away'));
      await assert.rejects(run({ exec: { command: ['x'] } }), /away/);
    });
  });

  it('a probe of no kind is no result', async () => {
    await assert.rejects(run({}), /missing probe handler/);
  });
});
