import { BlockList, isIP } from 'node:net';
import type { ConfigFault } from './errors.ts';
import { nodeLabelFaults } from './node-labels.ts';
import type { KubeletFlags } from './types.ts';

const noNodeAddress = new BlockList();
noNodeAddress.addSubnet('127.0.0.0', 8, 'ipv4');
noNodeAddress.addSubnet('169.254.0.0', 16, 'ipv4');
noNodeAddress.addSubnet('224.0.0.0', 4, 'ipv4');
noNodeAddress.addAddress('::1', 'ipv6');
noNodeAddress.addSubnet('fe80::', 10, 'ipv6');
noNodeAddress.addSubnet('ff00::', 8, 'ipv6');

const unspecified = ['0.0.0.0', '::'];

function nodeIpFault(text: string): string | undefined {
  const addresses = text.split(',').map((a) => a.trim());
  for (const address of addresses) {
    const version = isIP(address);
    if (version === 0) return `has ${JSON.stringify(address)}, which is not an IP address`;
    if (noNodeAddress.check(address, version === 4 ? 'ipv4' : 'ipv6')) return `has ${address}, a loopback, link-local or multicast address`;
    if (addresses.length > 1 && unspecified.includes(address)) return `has ${address}, which can only stand alone`;
  }
  if (addresses.length > 2) return 'has more than two addresses';
  if (addresses.length === 2 && isIP(addresses[0] ?? '') === isIP(addresses[1] ?? '')) return 'has two addresses of one family';
  return undefined;
}

/** What is wrong with the flags that have no configuration field. Contract: flags-config.md §4. */
export function checkFlags(flags: KubeletFlags): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const fault = (flag: string, value: unknown, rule: string, remedy?: string): void => {
    faults.push({
      code: 'flag',
      flag,
      field: '',
      ...(value === undefined ? {} : { value }),
      rule,
      ...(remedy === undefined ? {} : { remedy }),
    });
  };
  for (const { label, rule, remedy } of nodeLabelFaults(flags.nodeLabels)) fault('node-labels', label, rule, remedy);
  if (flags.cloudProvider !== '' && flags.cloudProvider !== 'external') {
    fault('cloud-provider', flags.cloudProvider, 'must be empty or external');
  }
  if (flags.hostnameOverride !== '' && flags.hostnameOverride.trim() === '')
    fault('hostname-override', flags.hostnameOverride, 'must not be blank');
  const address = flags.nodeIP === '' ? undefined : nodeIpFault(flags.nodeIP);
  if (address !== undefined) fault('node-ip', flags.nodeIP, address);
  if (flags.exitOnLockContention && flags.lockFile === '') fault('exit-on-lock-contention', true, 'needs --lock-file');
  if ((flags.imageCredentialProviderConfig === '') !== (flags.imageCredentialProviderBinDir === '')) {
    const missing = flags.imageCredentialProviderConfig === '' ? 'config' : 'bin-dir';
    fault(`image-credential-provider-${missing}`, undefined, 'must be set, too, when the other one is');
  }
  if (flags.rootDir === '') fault('root-dir', '', 'must not be empty');
  return faults;
}
