import { trimSpace } from '../go-space.ts';
import type { Field } from './field.ts';
import { allContainers } from './metadata.ts';
import { descendingPath, dnsSubdomain, unixId } from './names.ts';

const SYSCTL_SEGMENT = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
const IPC_SYSCTLS = new Set([
  'kernel.sem',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
  'kernel.msg',
]);
const MAX_PATH = 4095;

export function validateContainerSecurity(context: Field, hostUsers: boolean): void {
  if (!context.isSet) return;
  for (const name of ['runAsUser', 'runAsGroup'])
    if (context.get(name).isSet) context.get(name).reportAll(unixId(context.get(name).number));
  const procMount = context.get('procMount');
  if (procMount.isSet) {
    procMount.oneOf(['Default', 'Unmasked']);
    if (hostUsers && procMount.text === 'Unmasked') procMount.report('Unmasked needs hostUsers: false');
  }
  validateSeccomp(context.get('seccompProfile'));
  if (context.get('allowPrivilegeEscalation').value === false) {
    if (context.get('privileged').isTrue) context.report('a privileged container cannot have allowPrivilegeEscalation: false');
    const added = context
      .get('capabilities')
      .get('add')
      .each()
      .filter((capability) => capability.text === 'CAP_SYS_ADMIN');
    for (const _ of added) context.report('a container with CAP_SYS_ADMIN cannot have allowPrivilegeEscalation: false');
  }
  validateWindowsOptions(context.get('windowsOptions'));
  validateAppArmor(context.get('appArmorProfile'));
}

export function validatePodSecurity(context: Field, spec: Field): void {
  for (const name of ['fsGroup', 'runAsUser', 'runAsGroup'])
    if (context.get(name).isSet) context.get(name).reportAll(unixId(context.get(name).number));
  for (const group of context.get('supplementalGroups').each()) group.reportAll(unixId(group.number));
  validateSysctls(context.get('sysctls'), spec);
  const choices: [string, string[]][] = [
    ['fsGroupChangePolicy', ['OnRootMismatch', 'Always']],
    ['supplementalGroupsPolicy', ['Merge', 'Strict']],
    ['seLinuxChangePolicy', ['Recursive', 'MountOption']],
  ];
  for (const [name, allowed] of choices) if (context.get(name).isSet) context.get(name).oneOf(allowed);
  validateSeccomp(context.get('seccompProfile'));
  validateWindowsOptions(context.get('windowsOptions'));
  validateAppArmor(context.get('appArmorProfile'));
}

/** A local profile is a file below the kubelet's own directory; an empty name is refused when the container is made (CVE-2023-2431). */
function validateSeccomp(profile: Field): void {
  if (!profile.isSet) return;
  profile.get('type').oneOf(['Localhost', 'RuntimeDefault', 'Unconfined']);
  const file = profile.get('localhostProfile');
  if (profile.get('type').text !== 'Localhost') {
    if (file.isSet) file.report('goes only with the type Localhost');
  } else if (!file.isSet) file.report('is missing beside the type Localhost');
  else file.reportAll(descendingPath(file.text));
}

function validateAppArmor(profile: Field): void {
  if (!profile.isSet) return;
  const file = profile.get('localhostProfile');
  if (!profile.get('type').oneOf(['Localhost', 'RuntimeDefault', 'Unconfined'])) return;
  if (profile.get('type').text !== 'Localhost') {
    if (file.isSet) file.report('goes only with the type Localhost');
    return;
  }
  if (file.isSet && file.text !== trimSpace(file.text)) file.report('has blanks around it');
  else file.require('is missing beside the type Localhost');
  if (Buffer.byteLength(file.text) > MAX_PATH) file.report(`is longer than ${MAX_PATH} characters`);
}

function validateSysctls(sysctls: Field, spec: Field): void {
  const seen = new Set<string>();
  for (const sysctl of sysctls.each()) {
    const name = sysctl.get('name');
    const isSound = name.text.length <= 253 && name.text.split(/[./]/).every((part) => SYSCTL_SEGMENT.test(part));
    if (name.require()) {
      if (!isSound) name.report(`${name.shown} is no name of a kernel parameter`);
      else if (seen.has(name.text)) name.report(`${name.shown} is given twice`);
    }
    const namespace = sysctlNamespace(name.text);
    if (spec.get('hostNetwork').isTrue && namespace === 'net') name.report(`${name.shown} does not go with hostNetwork`);
    else if (spec.get('hostIPC').isTrue && namespace === 'ipc') name.report(`${name.shown} does not go with hostIPC`);
    seen.add(name.text);
  }
}

function sysctlNamespace(name: string): 'net' | 'ipc' | undefined {
  // With a slash as first separator, slashes and dots have changed places.
  const first = /[./]/.exec(name)?.[0];
  const dotted = first === '/' ? name.replace(/[./]/g, (c) => (c === '/' ? '.' : '/')) : name;
  const plain = dotted.split('*')[0] ?? '';
  if (plain.startsWith('net.')) return 'net';
  return IPC_SYSCTLS.has(plain) || plain.startsWith('fs.mqueue.') ? 'ipc' : undefined;
}

function validateWindowsOptions(options: Field): void {
  const spec = options.get('gmsaCredentialSpec');
  const name = options.get('gmsaCredentialSpecName');
  const user = options.get('runAsUserName');
  if (name.isSet) name.reportAll(dnsSubdomain(name.text));
  if (spec.isSet && spec.require() && Buffer.byteLength(spec.text) > 64 * 1024) spec.report('is larger than 64 KiB');
  if (!user.isSet || !user.require()) return;
  const [first = '', second, ...more] = user.text.split('\\');
  const [domain, account] = second === undefined ? [undefined, first] : [first, second];
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the rule is about them
  if (/[\0-\x1f\x7f]/.test(user.text)) user.report('contains a control character');
  else if (more.length > 0) user.report('contains more than one backslash');
  else {
    if (domain !== undefined && Buffer.byteLength(domain) >= 256) user.report('has a domain of 256 characters or more');
    if (domain !== undefined && !isWindowsDomain(domain)) user.report('has a domain that is neither a NetBIOS nor a DNS name');
    if (account === '') user.report('has an empty user');
    else if (Buffer.byteLength(account) > 104) user.report('has a user longer than 104 characters');
    if (/^[. ]+$/.test(account)) user.report('has a user of dots and blanks only');
    if (/["/\\:;|=,+*?<>@[\]]/.test(account)) user.report('has a user with one of "/\\:;|=,+*?<>@[]');
  }
}

function isWindowsDomain(domain: string): boolean {
  return (
    /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/.test(domain) ||
    /^(?:[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?)*$/.test(domain)
  );
}

const LINUX_ONLY_POD = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
];
const LINUX_ONLY_CONTAINER = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
];

/** The operating system that a pod names, and what does not go with it. */
export function validateOs(spec: Field): void {
  const os = spec.get('os');
  if (!os.isSet) return;
  const name = os.get('name');
  if (!name.require()) return;
  if (name.text === 'linux') {
    for (const holder of [spec, ...allContainers(spec)]) {
      const options = holder.get('securityContext').get('windowsOptions');
      if (options.isSet) options.report('does not go with os: linux');
    }
  } else if (name.text === 'windows') validateWindowsPod(spec);
  else os.report(`${name.shown} is not supported`, 'linux or windows');
}

function validateWindowsPod(spec: Field): void {
  const refused: Field[] = [];
  for (const name of LINUX_ONLY_POD) refused.push(spec.get('securityContext').get(name));
  for (const name of ['hostUsers', 'shareProcessNamespace']) refused.push(spec.get(name));
  for (const container of allContainers(spec))
    for (const name of LINUX_ONLY_CONTAINER) refused.push(container.get('securityContext').get(name));
  for (const field of refused) if (field.isSet) field.report('does not go with os: windows');
  const sysctls = spec.get('securityContext').get('sysctls');
  if (sysctls.count > 0) sysctls.report('does not go with os: windows');
  for (const name of ['hostPID', 'hostIPC']) if (spec.get(name).isTrue) spec.get(name).report('does not go with os: windows');
}

/** HostProcess containers: all of them or none, and with the host's network. */
export function validateHostProcess(spec: Field): void {
  const pod = spec.get('securityContext').get('windowsOptions').get('hostProcess');
  const containers = allContainers(spec);
  let count = 0;
  for (const container of containers) {
    const own = container.get('securityContext').get('windowsOptions').get('hostProcess');
    if (pod.isSet && own.isSet && pod.value !== own.value) own.report("differs from the pod's");
    if (own.isSet ? own.isTrue : pod.isTrue) count += 1;
  }
  if (count === 0) return;
  if (count !== containers.length) spec.report('either all containers are HostProcess containers or none');
  if (!spec.get('hostNetwork').isTrue) spec.get('hostNetwork').report('must be true with HostProcess containers');
}
