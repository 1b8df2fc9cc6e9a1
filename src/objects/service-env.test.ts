import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ServiceForEnv } from './service-env.ts';
import { servicesFor, serviceVariables } from './service-env.ts';

function service(namespace: string, name: string, clusterIP = '10.0.0.1'): ServiceForEnv {
  return { metadata: { name, namespace }, spec: { clusterIP, ports: [{ port: 80 }] } };
}

describe('servicesFor', () => {
  const all = [service('ns', 'web'), service('other', 'db'), service('default', 'kubernetes'), service('ns', 'headless', 'None')];
  const names = (namespace: string, links: boolean) =>
    servicesFor(all, namespace, links).map((s) => `${s.metadata.namespace}/${s.metadata.name}`);
  it('are those of the namespace and the API server', () => {
    assert.deepEqual(names('ns', true), ['ns/web', 'default/kubernetes']);
  });
  it('are the API server alone without links', () => {
    assert.deepEqual(names('ns', false), ['default/kubernetes']);
    assert.deepEqual(names('default', false), ['default/kubernetes']);
  });
});

describe('serviceVariables', () => {
  it('are none for a service without ports, which the real kubelet does not survive', () => {
    assert.deepEqual(serviceVariables([{ metadata: { name: 'x' }, spec: { clusterIP: '10.0.0.1', ports: [] } }]), []);
  });
  it('put an IPv6 address in brackets', () => {
    const found = serviceVariables([service('ns', 'a-b', 'fd00::1')]);
    assert.deepEqual(
      found.find(({ name }) => name === 'A_B_PORT'),
      { name: 'A_B_PORT', value: 'tcp://[fd00::1]:80' },
    );
    assert.deepEqual(found[0], { name: 'A_B_SERVICE_HOST', value: 'fd00::1' });
  });
});
