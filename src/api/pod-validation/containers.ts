import { trimSpace } from '../go-space.ts';
import { validateEnv, validateEnvFrom } from './env.ts';
import type { Field } from './field.ts';
import { validateLifecycle, validateProbe } from './handlers.ts';
import { validateMounts } from './mounts.ts';
import { dnsLabel, portName, portNumber } from './names.ts';
import { validateContainerResources } from './resource-rules.ts';
import { validateContainerSecurity } from './security.ts';

/** What the rules of a container need to know of its pod. */
export interface PodContext {
  spec: Field;
  /** The pod's sound volumes by name. */
  volumes: ReadonlyMap<string, Field>;
  claims: ReadonlySet<string>;
}

const PROBES = ['liveness', 'readiness', 'startup'] as const;
const NOT_FOR_EPHEMERAL = [
  'ports',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
  'resizePolicy',
  'restartPolicy',
  'restartPolicyRules',
];

export function validateContainers(context: PodContext): void {
  const { spec } = context;
  const containers = spec.get('containers');
  const names = new Set<string>();
  if (containers.require('a pod needs at least one container')) {
    for (const container of containers.each()) {
      validateCommon(container, context);
      unique(container, names);
      validateHooksAndProbes(container, spec);
      validateRestart(container.get('restartPolicy'), container);
    }
    validateHostPorts(containers.each());
  }
  validateInitContainers(context, names);
  validateEphemeralContainers(context, names);
  for (const list of ['containers', 'initContainers']) for (const container of spec.get(list).each()) validateImageBlanks(container);
}

function unique(container: Field, names: Set<string>): void {
  const name = container.get('name');
  if (names.has(name.text)) name.report(`${name.shown} is the name of another container too`);
  names.add(name.text);
}

function validateImageBlanks(container: Field): void {
  const image = container.get('image');
  if (image.text !== trimSpace(image.text)) image.report(`${image.shown} has blanks around it`);
}

function validateCommon(container: Field, { spec, volumes, claims }: PodContext): void {
  const name = container.get('name');
  if (name.require()) name.reportAll(dnsLabel(name.text));
  container.get('image').require('a container needs an image');
  container.get('terminationMessagePolicy').oneOf(['File', 'FallbackToLogsOnError']);
  validatePorts(container.get('ports'));
  validateEnv(container.get('env'));
  validateEnvFrom(container.get('envFrom'));
  validateMounts(container, volumes);
  container.get('imagePullPolicy').oneOf(['Always', 'IfNotPresent', 'Never']);
  validateContainerResources(container.get('resources'), claims);
  validateResizePolicy(container.get('resizePolicy'), spec.get('restartPolicy').text);
  validateContainerSecurity(container.get('securityContext'), spec.get('hostUsers').value !== false);
}

function validatePorts(ports: Field): void {
  const names = new Set<string>();
  for (const port of ports.each()) {
    const name = port.get('name');
    const problems = name.text === '' ? [] : portName(name.text);
    name.reportAll(problems);
    if (name.text !== '' && problems.length === 0) {
      if (names.has(name.text)) name.report(`${name.shown} is given twice`);
      names.add(name.text);
    }
    const number = port.get('containerPort');
    if (number.number === 0) number.report('is missing');
    else number.reportAll(portNumber(number.number));
    const hostPort = port.get('hostPort');
    if (hostPort.number !== 0) hostPort.reportAll(portNumber(hostPort.number));
    port.get('protocol').oneOf(['TCP', 'UDP', 'SCTP']);
  }
}

function validateHostPorts(containers: readonly Field[]): void {
  const taken = new Set<string>();
  for (const container of containers) {
    for (const port of container.get('ports').each()) {
      const number = port.get('hostPort').number;
      if (number === 0) continue;
      const key = `${port.get('protocol').text}/${port.get('hostIP').text}/${number}`;
      if (taken.has(key)) port.get('hostPort').report(`${key} is taken twice`);
      taken.add(key);
    }
  }
}

function validateResizePolicy(policies: Field, podRestartPolicy: string): void {
  const seen = new Set<string>();
  for (const policy of policies.each()) {
    const resource = policy.get('resourceName').text;
    const restart = policy.get('restartPolicy').text;
    if (seen.has(resource)) policy.report(`${JSON.stringify(resource)} is given twice`);
    seen.add(resource);
    policies.with(resource).oneOf(['cpu', 'memory']);
    policies.with(restart).oneOf(['NotRequired', 'RestartContainer']);
    if (podRestartPolicy === 'Never' && restart !== 'NotRequired')
      policies.report('must be NotRequired in a pod with restartPolicy: Never');
  }
}

function validateHooksAndProbes(container: Field, spec: Field): void {
  const grace = spec.get('terminationGracePeriodSeconds').number;
  if (container.get('lifecycle').isSet) validateLifecycle(container.get('lifecycle'), spec.get('os'), grace);
  for (const kind of PROBES) validateProbe(container.get(`${kind}Probe`), kind, grace);
}

/** Restart policy and rules of one container (KEP-5307). */
function validateRestart(policy: Field, container: Field): void {
  const rules = container.get('restartPolicyRules');
  if (policy.isSet) policy.oneOf(['Always', 'OnFailure', 'Never']);
  else if (rules.count > 0) policy.report('is missing beside restartPolicyRules');
  if (rules.count > 20) rules.report(`are ${rules.count}, more than 20`);
  for (const rule of rules.each()) {
    rule.get('action').oneOf(['Restart', 'RestartAllContainers']);
    const codes = rule.get('exitCodes');
    if (!codes.require()) continue;
    codes.get('operator').oneOf(['In', 'NotIn']);
    if (codes.get('values').count > 255) codes.get('values').report('are more than 255');
  }
}

function validateInitContainers(context: PodContext, names: Set<string>): void {
  const list = context.spec.get('initContainers');
  for (const container of list.each()) {
    validateCommon(container, context);
    const policy = container.get('restartPolicy');
    if (policy.isSet || container.get('restartPolicyRules').count === 0) {
      if (policy.isSet) validateRestart(policy, container);
    } else policy.report('is missing beside restartPolicyRules');
    if (container.get('name').text !== '' || names.has('')) unique(container, names);
    // They run one after the other, so only a container's own ports can collide; Kubernetes names the first of the list.
    validateHostPorts([container.at(`${list.path}[0]`)]);
    if (policy.text === 'Always') {
      validateHooksAndProbes(container, context.spec);
      continue;
    }
    for (const name of ['lifecycle', ...PROBES.map((kind) => `${kind}Probe`)]) {
      if (container.get(name).isSet) container.get(name).report('goes only with an init container of restartPolicy: Always');
    }
    for (const item of container.get('resizePolicy').each()) {
      const restart = item.get('restartPolicy');
      if (restart.text === 'RestartContainer') restart.report('RestartContainer goes only with an init container of restartPolicy: Always');
    }
  }
}

function validateEphemeralContainers(context: PodContext, names: Set<string>): void {
  const others = new Set(names);
  for (const container of context.spec.get('ephemeralContainers').each()) {
    validateCommon(container, context);
    validateImageBlanks(container);
    unique(container, names);
    const target = container.get('targetContainerName');
    if (target.text !== '' && !others.has(target.text)) target.report(`there is no container ${target.shown}`);
    for (const name of NOT_FOR_EPHEMERAL) if (container.get(name).isSet) container.get(name).report('is not for ephemeral containers');
    const resources = container.get('resources');
    if (['limits', 'requests', 'claims'].some((name) => resources.get(name).isSet)) resources.report('is not for ephemeral containers');
    for (const mount of container.get('volumeMounts').each()) {
      for (const name of ['subPath', 'subPathExpr'])
        if (mount.get(name).text !== '') mount.get(name).report('is not for ephemeral containers');
    }
  }
}
