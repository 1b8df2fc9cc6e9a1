import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hostNetworkHostsFile, managedHostsFile, needsHostsFile } from './hosts-file.ts';

const head = `# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;

describe('managedHostsFile', () => {
  it('has a line for each address, and the aliases', () => {
    const aliases = [{ ip: '1.2.3.4', hostnames: ['a', 'b'] }, { ip: '5.6.7.8' }];
    const want = `${head}10.0.0.9\th.d\th\nfd00::9\th.d\th\n\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n5.6.7.8\t\n`;
    assert.equal(managedHostsFile(['10.0.0.9', 'fd00::9'], { hostname: 'h', domain: 'd' }, aliases), want);
    assert.equal(managedHostsFile(['10.0.0.9'], { hostname: 'h', domain: '' }, []), `${head}10.0.0.9\th\n`);
  });
});

describe('hostNetworkHostsFile', () => {
  it("keeps the node's bytes", () => {
    const node = Buffer.from([0x31, 0xff, 0x0a]);
    const got = hostNetworkHostsFile(node, [{ ip: '1.2.3.4', hostnames: ['a'] }]);
    const want = [
      Buffer.from('# Kubernetes-managed hosts file (host network).\n'),
      node,
      Buffer.from('\n# Entries added by HostAliases.\n1.2.3.4\ta\n'),
    ];
    assert.deepEqual(got, Buffer.concat(want));
  });
});

describe('needsHostsFile', () => {
  it('leaves out pods without address and containers that mount their own', () => {
    assert.equal(needsHostsFile({ containers: [] }, [], []), false);
    assert.equal(needsHostsFile({ containers: [], hostNetwork: true }, [], []), true);
    assert.equal(needsHostsFile({ containers: [] }, ['/x'], ['10.0.0.1']), true);
    assert.equal(needsHostsFile({ containers: [] }, ['/etc/hosts'], ['10.0.0.1']), false);
  });
});
