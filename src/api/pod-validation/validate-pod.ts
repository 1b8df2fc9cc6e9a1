import { ipFamily } from '../ip.ts';
import type { Pod } from '../types.ts';
import { validateContainers } from './containers.ts';
import { Field } from './field.ts';
import type { FieldFault } from './field-fault.ts';
import { allContainers, validateLabels, validateMetadata, validateProfilesMatch } from './metadata.ts';
import { dnsLabel, dnsSubdomain, qualifiedName, searchDomain } from './names.ts';
import { validateOverhead, validatePodResources, validateResourceClaims } from './resource-rules.ts';
import { validateHostProcess, validateOs, validatePodSecurity } from './security.ts';
import { validateAffinity, validateTopologySpread } from './selectors.ts';
import { validateTolerations } from './tolerations.ts';
import { validateVolumes } from './volumes.ts';

const MAX_INT32 = 2 ** 31 - 1;

/**
 * What Kubernetes asks of a pod when it is created: every fault, with the field path as Kubernetes prints it. The pod
 * has the API's types and defaults. Source: vectors static-pod, contract pod-lifecycle.md §1, API reference "Pod".
 */
export function validatePod(pod: Pod): FieldFault[] {
  const faults: FieldFault[] = [];
  const root = new Field(pod, '', faults);
  const meta = root.get('metadata');
  const spec = root.get('spec');
  validateMetadata(meta, spec);
  const volumes = validateVolumes(spec, meta.get('name').text);
  const claims = validateResourceClaims(spec.get('resourceClaims'));
  validateContainers({ spec, volumes, claims });
  validatePodResources(pod, spec, claims);
  validateHostNetwork(spec);
  spec.get('restartPolicy').oneOf(['Always', 'OnFailure', 'Never']);
  spec.get('terminationGracePeriodSeconds').notNegative();
  validateDns(spec);
  validateLabels(spec.get('nodeSelector'));
  validatePodSecurity(spec.get('securityContext'), spec);
  validateScheduling(spec);
  validateHostProcess(spec);
  validateNamespaces(spec);
  validateNames(spec);
  validateOverhead(spec.get('overhead'));
  validateOs(spec);
  validateFileKeys(spec);
  validateTokens(spec);
  if (spec.get('ephemeralContainers').count > 0) spec.get('ephemeralContainers').report('cannot be set when a pod is created');
  if (spec.get('schedulingGates').count > 0 && spec.get('nodeName').text !== '')
    spec.get('nodeName').report('goes without schedulingGates only');
  validateProfilesMatch(meta, spec);
  return faults;
}

function validateHostNetwork(spec: Field): void {
  if (!spec.get('hostNetwork').isTrue) return;
  for (const container of spec.get('containers').each()) {
    for (const port of container.get('ports').each()) {
      const hostPort = port.get('hostPort');
      if (hostPort.number !== 0 && hostPort.number !== port.get('containerPort').number)
        hostPort.report('must be the containerPort with hostNetwork');
    }
  }
}

function validateDns(spec: Field): void {
  const policy = spec.get('dnsPolicy');
  policy.oneOf(['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']);
  const config = spec.get('dnsConfig');
  const nameservers = config.get('nameservers');
  if (policy.text === 'None' && !config.require('is missing beside dnsPolicy: None')) return;
  if (policy.text === 'None' && !nameservers.require('needs at least one beside dnsPolicy: None')) return;
  if (nameservers.count > 3) nameservers.report(`are ${nameservers.count}, more than 3`);
  for (const nameserver of nameservers.each()) validateIp(nameserver);
  const searches = config.get('searches');
  if (searches.count > 32) searches.report(`are ${searches.count}, more than 32`);
  const line = searches.each().map((search) => search.text);
  if (Buffer.byteLength(line.join(' ')) > 2048) searches.report('are longer than 2048 characters together');
  for (const search of searches.each()) if (search.text !== '.') search.reportAll(searchDomain(search.text.replace(/\.$/, '')));
  for (const option of config.get('options').each()) if (option.get('name').text === '') option.report('has no name');
}

/** Canonical enough that every reader takes it for the same address. */
function validateIp(ip: Field): void {
  const isMapped = ip.text.includes(':') && ipFamily(ip.text) === 4;
  if (ipFamily(ip.text) === undefined) ip.report(`${ip.shown} is no IP address`);
  else if (/(?:^|:)0\d+\.|\.0\d/.test(ip.text)) ip.report(`${ip.shown} has leading zeros, which some read as octal`);
  else if (isMapped) ip.report(`${ip.shown} is an IPv4 address written as IPv6`);
}

function validateScheduling(spec: Field): void {
  validateAffinity(spec.get('affinity'));
  validateTolerations(spec.get('tolerations'));
  validateTopologySpread(spec.get('topologySpreadConstraints'));
  for (const gate of spec.get('readinessGates').each()) gate.get('conditionType').reportAll(qualifiedName(gate.get('conditionType').text));
  const gates = new Set<string>();
  for (const gate of spec.get('schedulingGates').each()) {
    const name = gate.get('name');
    gate.with(name.value).reportAll(qualifiedName(name.text));
    if (gates.has(name.text)) gate.report(`${name.shown} is given twice`);
    gates.add(name.text);
  }
  const group = spec.get('schedulingGroup');
  if (!group.isSet) return;
  const name = group.get('podGroupName');
  if (name.require()) name.reportAll(dnsSubdomain(name.text));
  if (spec.get('evictionResponders').count > 0) group.report('does not go with evictionResponders');
}

function validateNamespaces(spec: Field): void {
  const share = spec.get('shareProcessNamespace');
  if (share.isTrue && spec.get('hostPID').isTrue) share.report('does not go with hostPID');
  if (spec.get('hostUsers').value !== false) return;
  if (spec.get('hostNetwork').isTrue) spec.get('hostNetwork').report('does not go with hostUsers: false');
  // Kubernetes spells these two as in Go.
  if (spec.get('hostPID').isTrue) spec.get('HostPID').report('does not go with hostUsers: false');
  if (spec.get('hostIPC').isTrue) spec.get('HostIPC').report('does not go with hostUsers: false');
  for (const container of allContainers(spec)) {
    const devices = container.get('volumeDevices');
    if (devices.count > 0) devices.report('does not go with hostUsers: false');
  }
}

function validateNames(spec: Field): void {
  for (const name of ['hostname', 'subdomain']) if (spec.get(name).text !== '') spec.get(name).reportAll(dnsLabel(spec.get(name).text));
  for (const name of ['serviceAccountName', 'nodeName', 'priorityClassName']) {
    if (spec.get(name).text !== '') spec.get(name).reportAll(dnsSubdomain(spec.get(name).text));
  }
  const runtimeClass = spec.get('runtimeClassName');
  if (runtimeClass.isSet) runtimeClass.reportAll(dnsSubdomain(runtimeClass.text));
  const deadline = spec.get('activeDeadlineSeconds');
  if (deadline.isSet) deadline.range(1, MAX_INT32);
  if (spec.get('preemptionPolicy').isSet) spec.get('preemptionPolicy').oneOf(['PreemptLowerPriority', 'Never']);
  for (const alias of spec.get('hostAliases').each()) {
    validateIp(alias.get('ip'));
    for (const hostname of alias.get('hostnames').each()) hostname.reportAll(dnsSubdomain(hostname.text));
  }
  const override = spec.get('hostnameOverride');
  if (!override.isSet) return;
  if (spec.get('setHostnameAsFQDN').isTrue) override.report('does not go with setHostnameAsFQDN');
  if (spec.get('hostNetwork').isTrue) override.report('does not go with hostNetwork');
  if (Buffer.byteLength(override.text) > 64) override.report('is longer than 64 characters');
  override.reportAll(dnsSubdomain(override.text));
}

/** Variables from a file (KEP-3721): the file lies in an emptyDir of the pod. */
function validateFileKeys(spec: Field): void {
  const volumes = new Map(
    spec
      .get('volumes')
      .each()
      .map((volume) => [volume.get('name').text, volume]),
  );
  for (const container of allContainers(spec)) {
    for (const env of container.get('env').each()) {
      const ref = env.get('valueFrom').get('fileKeyRef');
      if (!ref.isSet) continue;
      const name = ref.get('volumeName');
      const volume = volumes.get(name.text);
      if (!volume) name.report(`there is no volume ${name.shown}`);
      else if (!volume.get('emptyDir').isSet) name.report('must be an emptyDir');
    }
  }
}

function validateTokens(spec: Field): void {
  if (spec.get('serviceAccountName').text !== '') return;
  for (const volume of spec.get('volumes').each()) {
    for (const source of volume.get('projected').get('sources').each()) {
      const token = source.get('serviceAccountToken');
      if (token.isSet) token.report('needs a serviceAccountName');
    }
  }
}
