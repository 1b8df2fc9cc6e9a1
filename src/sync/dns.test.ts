import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../api/types.ts';
import { checkResolvConfLimits, type DnsSettings, parseResolvConf, podDns, ResolvConfError } from './dns.ts';
import { portMappings } from './port-mappings.ts';
import { normalizeSysctl, SysctlAllowlist, SysctlError, safeSysctls } from './sysctls.ts';

const podWith = (spec: Partial<Pod['spec']>): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [], ...spec },
});
const settings: DnsSettings = {
  host: { servers: ['192.0.2.1'], searches: ['corp.example'], options: ['ndots:2'] },
  nodeIPs: ['10.0.0.1'],
  clusterDNS: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
};

test('resolv.conf', () => {
  const text = '# c\nnameserver 1.1.1.1 extra\n search a. . b\noptions ndots:1 rotate\noptions ndots:3\n;x\n';
  assert.deepEqual(parseResolvConf(text), { servers: ['1.1.1.1'], searches: ['a', 'b'], options: ['ndots:3', 'rotate'] });
  assert.throws(() => parseResolvConf('nameserver\n'), ResolvConfError);
});

test('policies', () => {
  const searches = (spec: Partial<Pod['spec']>) => podDns(podWith(spec), settings).config.searches;
  assert.deepEqual(searches({ dnsPolicy: 'ClusterFirst' }), ['ns.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.example']);
  assert.deepEqual(searches({ dnsPolicy: 'ClusterFirst', hostNetwork: true }), ['corp.example']);
  assert.deepEqual(searches({ dnsPolicy: 'Default' }), ['corp.example']);
  assert.deepEqual(searches({ dnsPolicy: 'None' }), []);
});

test('limits are kept and reported on the pod', () => {
  const many = Array.from({ length: 40 }, (_, i) => `s${i}.example`);
  const { config, events } = podDns(
    podWith({ dnsPolicy: 'None', dnsConfig: { nameservers: ['1', '2', '3', '4'], searches: many } }),
    settings,
  );
  assert.equal(config.servers.length, 3);
  assert.equal(config.searches.length, 32);
  assert.deepEqual(
    events.map((e) => [e.on, e.reason]),
    [
      ['pod', 'DNSConfigForming'],
      ['pod', 'DNSConfigForming'],
    ],
  );
});

test('a pod of the cluster policy on a node without cluster DNS gets the node own settings and two warnings', () => {
  const { config, events } = podDns(podWith({ dnsPolicy: 'ClusterFirst' }), { ...settings, clusterDNS: [] });
  assert.deepEqual(config, settings.host);
  assert.deepEqual(
    events.map((e) => e.on),
    ['node', 'pod'],
  );
});

test('settings of the node are not changed', () => {
  const before = structuredClone(settings);
  podDns(podWith({ dnsPolicy: 'Default', dnsConfig: { nameservers: ['9.9.9.9'], options: [{ name: 'x' }] } }), settings);
  assert.deepEqual(settings, before);
});

test('the check of resolv.conf', () => {
  assert.equal(checkResolvConfLimits('/r', 'search a\n', 'c.local'), undefined);
  assert.equal(checkResolvConfLimits('/r', new Error('gone'), 'c.local')?.message, 'gone');
  assert.match(checkResolvConfLimits('/r', `search ${'x '.repeat(30)}`, 'c.local')?.message ?? '', /more than 29 domains/);
  assert.match(checkResolvConfLimits('/r', `search ${'x'.repeat(254)}`, '')?.message ?? '', /253 chars/);
});

test('ports: a later one of the same name or place is dropped', () => {
  const ports = [
    { containerPort: 80, hostIP: '::ffff:1.2.3.4' },
    { containerPort: 80, hostIP: '::ffff:1.2.3.4' },
    { name: 'a', containerPort: 1 },
  ];
  const { mappings, dropped } = portMappings({ ports });
  assert.equal(mappings.length, 2);
  assert.deepEqual(dropped, ['v4--::ffff:1.2.3.4:80:0']);
});

test('sysctls', () => {
  assert.ok(safeSysctls('6.8.0-31-generic').includes('net.ipv4.tcp_rmem'));
  assert.ok(!safeSysctls('no kernel').includes('net.ipv4.tcp_rmem'));
  assert.equal(normalizeSysctl('net/ipv4/conf/eth0.1/x'), 'net.ipv4.conf.eth0/1.x');
  const list = new SysctlAllowlist(['kernel.shm*', 'net.core.somaxconn']);
  const refusal = (name: string, spec: Partial<Pod['spec']> = {}) =>
    list.refusal(podWith({ securityContext: { sysctls: [{ name, value: '1' }] }, ...spec }));
  assert.equal(refusal('kernel.shmmax'), undefined);
  assert.match(refusal('kernel.shmmax', { hostIPC: true })?.message ?? '', /not allowed with host IPC enabled/);
  assert.match(refusal('vm.swappiness')?.message ?? '', /not allowlisted/);
  for (const bad of ['', 'vm.x', 'kernel..sem', 'a'.repeat(300)]) assert.throws(() => new SysctlAllowlist([bad]), SysctlError);
});
