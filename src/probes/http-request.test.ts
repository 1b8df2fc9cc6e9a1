import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HTTPGetAction } from '../api/types.ts';
import { httpGetRequest, requestText } from './http-request.ts';
import { formatTarget, parseReference, resolveLocation, targetOf } from './http-url.ts';
import { ProbeSetupError } from './port.ts';

const container = { ports: [{ name: 'web', containerPort: 8080 }] };
const request = (over: Partial<HTTPGetAction> = {}) => httpGetRequest({ port: 'web', ...over }, container, '10.0.0.1', 'probe');
const withHeader = (name: string, value: string) => request({ httpHeaders: [{ name, value }] });

describe('what a probe sends', () => {
  it('is one head', () => {
    const text = 'GET / HTTP/1.1\r\nHost: 10.0.0.1:8080\r\nUser-Agent: kube-probe/1.37\r\nAccept: */*\r\nConnection: close\r\n\r\n';
    assert.equal(requestText(request()), text);
  });
  it('leaves out an empty User-Agent and headers about a body, and keeps a Connection of the author', () => {
    assert.doesNotMatch(requestText(withHeader('User-Agent', '')), /User-Agent/);
    assert.doesNotMatch(requestText(withHeader('Content-Length', '5')), /Content-Length/);
    assert.match(requestText(withHeader('connection', 'keep-alive')), /Connection: keep-alive\r\nConnection: close\r\n/);
    assert.equal(requestText(withHeader('Connection', 'close')).match(/close/g)?.length, 1);
  });
  it('carries nothing that would end a header or the request line', () => {
    for (const [name, value] of [
      ['X', 'a\r\nEvil: 1'],
      ['X', 'a\nb'],
      ['X', 'a\0'],
      ['X Y', 'v'],
      ['X\r\nEvil', 'v'],
      ['', 'v'],
      ['Host', 'a\r\nb'],
    ] as const) {
      assert.throws(() => requestText(withHeader(name, value)), Error, JSON.stringify([name, value]));
    }
    assert.match(requestText(request({ path: '/a\r\nEvil: 1' })), /^GET \/a%0D%0AEvil:%201 HTTP\/1\.1\r\n/);
  });
  it('asks an IPv6 host in brackets', () => {
    assert.match(requestText(request({ host: 'fd00::1' })), /\r\nHost: \[fd00::1\]:8080\r\n/);
    assert.match(requestText(request({ host: 'fe80::1%eth0' })), /\r\nHost: \[fe80::1\]:8080\r\n/);
  });
  it('refuses hosts and ports that are none', () => {
    for (const over of [
      { host: 'a/b' },
      { host: 'a@b' },
      { host: 'a:b' },
      { host: 'a\r\nb' },
      { port: 65_536 },
      { port: 'x' },
      { port: 1.5 },
    ]) {
      assert.throws(() => request(over), ProbeSetupError, JSON.stringify(over));
    }
  });
});

describe('where a location leads', () => {
  const from = targetOf('http', '10.0.0.1', 80, '/a/b?q');
  const cases: [location: string, to: string][] = [
    ['/x', 'http://10.0.0.1:80/x'],
    ['x', 'http://10.0.0.1:80/a/x'],
    ['../x/./y', 'http://10.0.0.1:80/x/y'],
    ['../../../x', 'http://10.0.0.1:80/x'],
    ['..', 'http://10.0.0.1:80/'],
    ['?p', 'http://10.0.0.1:80/a/b?p'],
    ['//other/x', 'http://other/x'],
    ['https://[fd00::1]:8443/x', 'https://[fd00::1]:8443/x'],
    ['http://u:p@other:81', 'http://other:81'],
  ];
  for (const [location, to] of cases) it(location, () => assert.equal(formatTarget(resolveLocation(from, location)), to));
  it('refuses what is no reference', () => {
    for (const location of ['%zz', ':', 'http://[::1', 'http://[x]/', 'a:b/c d%', 'http://h:port/', '\u0001']) {
      assert.throws(() => resolveLocation(from, location), Error, location);
    }
  });
  it('takes time in proportion to the length', () => {
    const began = process.cpuUsage().user;
    for (const text of ['/'.repeat(200_000), '%41'.repeat(50_000), '../'.repeat(50_000), ':'.repeat(100_000)]) {
      try {
        formatTarget(resolveLocation(from, text));
        parseReference(text);
      } catch {}
    }
    assert.ok(process.cpuUsage().user - began < 3_000_000);
  });
});
