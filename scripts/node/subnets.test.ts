import assert from 'node:assert/strict';
import test from 'node:test';
import { chooseSubnet, formatAddress, overlaps, parseAddress, parseRoutes } from './subnets.ts';

const HEADER = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT';
const route = (name: string, destination: string, mask: string) => `${name}\t${destination}\t00000000\t0001\t0\t0\t0\t${mask}\t0\t0\t0`;

test('routes are read in the byte order of the kernel; the default route and our own bridges do not count', () => {
  const text = [
    HEADER,
    route('eth0', '00000000', '00000000'),
    route('eth0', '000200C0', '00FFFFFF'),
    route('kts3', '000CD50A', '00FCFFFF'),
    '',
  ].join('\n');
  const routes = parseRoutes(text, (name) => name.startsWith('kts'));
  assert.deepEqual(routes, [{ address: parseAddress('192.0.2.0'), mask: 0xffffff00 }]);
});

test('every run has a subnet of its own in the first base without a route', () => {
  assert.equal(chooseSubnet(0, []), '10.213.0.0/22');
  assert.equal(chooseSubnet(63, []), '10.213.252.0/22');
  const vpn = { address: parseAddress('10.208.0.0'), mask: 0xfff00000 };
  assert.equal(chooseSubnet(1, [vpn]), '10.231.4.0/22');
  assert.throws(() => chooseSubnet(0, [{ address: 0, mask: 0 }]), /no free network/);
});

test('ranges overlap when one holds the other', () => {
  const range = (text: string, mask: number) => ({ address: parseAddress(text), mask });
  assert.ok(overlaps(range('10.0.0.0', 0xff000000), range('10.9.8.0', 0xffffff00)));
  assert.ok(!overlaps(range('10.1.0.0', 0xffff0000), range('10.2.0.0', 0xffff0000)));
  assert.ok(overlaps(range('192.168.1.7', 0xffffffff), range('192.168.0.0', 0xffff0000)));
  assert.equal(formatAddress(parseAddress('192.168.255.1')), '192.168.255.1');
});
