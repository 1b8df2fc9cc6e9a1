import assert from 'node:assert/strict';
import test from 'node:test';
import { cleanUpScript, rulesOf } from './iptables.ts';

const SHARED = ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ', 'CNI-HOSTPORT-SETMARK'];
const dnat = (network: string, chain: string) =>
  `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"${network}\\" id: \\"4f\\"" -m multiport --dports 8080 -j ${chain}`;

/** As `iptables-save -t nat` prints it with host ports of the given networks in use. */
function saved(networks: Record<string, string>): string {
  return [
    '*nat',
    ':PREROUTING ACCEPT [0:0]',
    ':DOCKER - [0:0]',
    ...Object.values(networks).map((c) => `:${c} - [0:0]`),
    ...SHARED.map((c) => `:${c} - [0:0]`),
    '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
    '-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER',
    '-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ',
    ...Object.entries(networks).flatMap(([network, chain]) => [
      `-A ${chain} -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.0.0.2:80`,
      dnat(network, chain),
    ]),
    '-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE',
    'COMMIT',
    '',
  ].join('\n');
}

test('the last network takes its rules, its chains and the shared chains with it', () => {
  assert.equal(
    cleanUpScript(saved({ kts0: 'CNI-DN-aa' }), 'kts0', SHARED),
    [
      '*nat',
      '-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
      '-D POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ',
      ...['CNI-DN-aa', ...SHARED].map((c) => `-F ${c}`),
      ...['CNI-DN-aa', ...SHARED].map((c) => `-X ${c}`),
      'COMMIT',
      '',
    ].join('\n'),
  );
});

test('what another network uses stays', () => {
  const script = cleanUpScript(saved({ kts0: 'CNI-DN-aa', podman: 'CNI-DN-bb' }), 'kts0', SHARED);
  assert.equal(script, `*nat\n${dnat('kts0', 'CNI-DN-aa').replace('-A', '-D')}\n-F CNI-DN-aa\n-X CNI-DN-aa\nCOMMIT\n`);
});

test('chains that were there before stay', () => {
  const script = cleanUpScript(saved({ kts0: 'CNI-DN-aa' }), 'kts0', []);
  assert.equal(script, `*nat\n${dnat('kts0', 'CNI-DN-aa').replace('-A', '-D')}\n-F CNI-DN-aa\n-X CNI-DN-aa\nCOMMIT\n`);
});

test('a network is known by its whole name, and nothing to do is no script', () => {
  const text = saved({ kts12: 'CNI-DN-aa' });
  assert.deepEqual(rulesOf(text, 'kts1'), []);
  assert.equal(rulesOf(text, 'kts12').length, 1);
  assert.equal(cleanUpScript('*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT\n', 'kts1', []), '');
});
