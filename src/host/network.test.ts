import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { InterfaceAddress, NetworkProbe } from './network.ts';
import { nodeAddresses, nodeName, parseIPv4DefaultRoutes, parseIPv6DefaultRoutes } from './network.ts';

const interfaces: InterfaceAddress[] = [
  { interface: 'lo', address: '127.0.0.1', family: 4 },
  { interface: 'eth1', address: '10.1.0.5', family: 4 },
  { interface: 'eth0', address: '192.0.2.2', family: 4 },
  { interface: 'eth0', address: 'fe80::1', family: 6 },
  { interface: 'eth0', address: 'fd00::2', family: 6 },
];

function probe(more: Partial<NetworkProbe> = {}): NetworkProbe {
  return {
    interfaces: () => interfaces,
    defaultRouteInterfaces: () => Promise.resolve(['eth0']),
    lookup: () => Promise.resolve([]),
    ...more,
  };
}

describe('nodeAddresses', () => {
  it('takes the given addresses when an interface has them', async () => {
    assert.deepEqual(await nodeAddresses({ nodeIps: ['10.1.0.5', 'FD00:0::2'], hostname: 'n' }, probe()), ['10.1.0.5', 'FD00:0::2']);
  });
  for (const [ip, why] of [
    ['10.9.9.9', /no interface/],
    ['127.0.0.1', /loopback/],
    ['224.0.0.1', /multicast/],
    ['fe80::1', /link-local/],
    ['banana', /not an IP/],
  ] as const) {
    it(`refuses ${ip} and says why`, () => assert.rejects(nodeAddresses({ nodeIps: [ip], hostname: 'n' }, probe()), why));
  }
  it('takes a host name that is an address', async () => {
    assert.deepEqual(await nodeAddresses({ hostname: '203.0.113.9' }, probe()), ['203.0.113.9']);
  });
  it('takes a usable address of the name, IPv4 first', async () => {
    const lookup = () => Promise.resolve(['127.0.1.1', 'fd00::2', '10.1.0.5']);
    assert.deepEqual(await nodeAddresses({ hostname: 'n' }, probe({ lookup })), ['10.1.0.5']);
    assert.deepEqual(await nodeAddresses({ nodeIps: ['::'], hostname: 'n' }, probe({ lookup })), ['fd00::2']);
  });
  it('falls back to the interface of the default route', async () => {
    assert.deepEqual(await nodeAddresses({ hostname: 'n' }, probe()), ['192.0.2.2']);
    assert.deepEqual(await nodeAddresses({ nodeIps: ['::'], hostname: 'n' }, probe()), ['fd00::2']);
    assert.deepEqual(await nodeAddresses({ hostname: 'n' }, probe({ defaultRouteInterfaces: () => Promise.resolve([]) })), []);
  });
});

describe('default routes', () => {
  it('are read from the kernel tables', () => {
    const v4 = [
      'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT',
      'eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0',
      'eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0',
      'dead\t00000000\t00000000\t0200\t0\t0\t0\t00000000\t0\t0\t0',
    ].join('\n');
    assert.deepEqual(parseIPv4DefaultRoutes(v4), ['eth0']);
    const zero = '0'.repeat(32);
    const v6 = [
      `${zero} 00 ${zero} 00 fd000000000000000000000000000001 00000400 00000002 00000000 00000003     eth0`,
      `${zero} 00 ${zero} 00 ${zero} ffffffff 00000001 00000000 00200200       lo`,
    ].join('\n');
    assert.deepEqual(parseIPv6DefaultRoutes(v6), ['eth0']);
  });
});

describe('nodeName', () => {
  it('is lower case, the override first', () => {
    assert.equal(nodeName(' Node-A '), 'node-a');
    assert.match(nodeName(), /^[^A-Z ]+$/);
  });
});
