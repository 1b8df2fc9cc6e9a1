import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { containerPortsJson, lifecycleHandlerJson } from './go-json.ts';

describe('lifecycleHandlerJson', () => {
  for (const [want, handler] of [
    ['{"exec":{"command":["sh","-c","a \\u0026\\u0026 b"]}}', { exec: { command: ['sh', '-c', 'a && b'] } }],
    ['{"exec":{}}', { exec: {} }],
    ['{"httpGet":{"port":"web"}}', { httpGet: { port: 'web', path: '', host: '' } }],
    [
      '{"httpGet":{"path":"/x","port":80,"host":"h","scheme":"HTTP","httpHeaders":[{"name":"A","value":""}]}}',
      { httpGet: { httpHeaders: [{ value: '', name: 'A' }], scheme: 'HTTP', host: 'h', port: 80, path: '/x' } },
    ],
    ['{"tcpSocket":{"port":0}}', { tcpSocket: { port: 0 } }],
    ['{"sleep":{"seconds":0}}', { sleep: { seconds: 0 } }],
    ['{}', {}],
  ] as const) {
    it(`gives ${want}`, () =>
      assert.equal(lifecycleHandlerJson(structuredClone(handler) as Parameters<typeof lifecycleHandlerJson>[0]), want));
  }
});

describe('containerPortsJson', () => {
  it('leaves out what is empty, in the order of the API', () => {
    const ports = [
      { protocol: 'UDP' as const, hostIP: '::1', containerPort: 53, hostPort: 5353, name: 'dns' },
      { containerPort: 80, hostPort: 0 },
    ];
    assert.equal(
      containerPortsJson(ports),
      '[{"name":"dns","hostPort":5353,"containerPort":53,"protocol":"UDP","hostIP":"::1"},{"containerPort":80}]',
    );
  });
});
