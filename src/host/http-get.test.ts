import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { systemGet } from './http-get.ts';

test('follows redirects, sends every value of a header, gives status and body', async () => {
  const seen: (string | string[] | undefined)[] = [];
  const server = createServer((req, res) => {
    seen.push(req.headers['x-token']);
    if (req.url === '/') res.writeHead(302, { Location: '/pods' }).end();
    else if (req.url === '/loop') res.writeHead(302, { Location: '/loop' }).end();
    else res.writeHead(200).end('body');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = { headers: { 'X-Token': ['a', 'b'] }, signal: new AbortController().signal };
  try {
    const { status, body } = await systemGet(`${base}/`, options);
    const parts: Uint8Array[] = [];
    for await (const part of body ?? []) parts.push(part);
    assert.deepEqual([status, Buffer.concat(parts).toString()], [200, 'body']);
    assert.deepEqual(seen, ['a, b', 'a, b']);
    await assert.rejects(systemGet(`${base}/loop`, options), /redirects/);
    await assert.rejects(systemGet(base, { ...options, signal: AbortSignal.abort(new Error('stop')) }), /stop|abort/i);
  } finally {
    server.closeAllConnections();
    await new Promise<void>((done) => server.close(() => done()));
  }
});
