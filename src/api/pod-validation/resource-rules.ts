import { Quantity } from '../quantity.ts';
import { aggregateContainerLimits, aggregateContainerRequests } from '../resources.ts';
import type { Pod } from '../types.ts';
import type { Field } from './field.ts';
import { dnsLabel, dnsSubdomain, qualifiedName } from './names.ts';

const COUNTED = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const MEASURED = ['cpu', 'memory', 'ephemeral-storage', 'storage'];
const STANDARD = new Set([
  ...COUNTED,
  ...MEASURED,
  ...MEASURED.map((name) => `requests.${name}`),
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
]);

const isHugePage = (name: string): boolean => name.startsWith('hugepages-');
const isNative = (name: string): boolean => !name.includes('/') || name.includes('kubernetes.io/');
const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith('requests.') && qualifiedName(`requests.${name}`).length === 0;
/** May be given out more than once: a limit above the request. */
const mayOvercommit = (name: string): boolean => isNative(name) && !isHugePage(name);
const isWhole = (name: string): boolean => COUNTED.includes(name) || isExtended(name);

const quantity = (field: Field): Quantity => Quantity.fromJson(field.value ?? null).roundUp(-3).quantity;

type NameRule = (name: string) => string[];

function commonName(name: string): string[] {
  const problems = qualifiedName(name);
  if (problems.length > 0 || name.includes('/')) return problems;
  const isStandard = STANDARD.has(name) || isHugePage(name) || name.startsWith('requests.hugepages-');
  return isStandard ? [] : ['is neither a standard resource nor one with a domain'];
}

const containerName: NameRule = (name) => {
  const problems = commonName(name);
  if (name.split('/').length === 1) {
    const isFit = ['cpu', 'memory', 'ephemeral-storage'].includes(name) || isHugePage(name);
    return isFit ? problems : [...problems, 'is no resource of a container'];
  }
  return isNative(name) || isExtended(name) ? problems : [...problems, 'is no name of an extended resource'];
};

const podName: NameRule = (name) => {
  const problems = commonName(name);
  if (problems.length > 0) return problems;
  return ['cpu', 'memory'].includes(name) || isHugePage(name) ? [] : ['is no resource of a pod'];
};

function validateAmount(name: string, field: Field, nameRule: NameRule): void {
  for (const problem of nameRule(name)) field.report(`${JSON.stringify(name)} ${problem}`);
  const amount = quantity(field);
  if (amount.sign() < 0) field.report(`${field.shown} is negative`);
  if (isWhole(name) && amount.milliValue() % 1000n !== 0n) field.report(`${field.shown} is no whole number`);
  if (isHugePage(name) && !isMultipleOfPage(name, amount)) field.report(`${field.shown} is no multiple of the page size`);
}

function isMultipleOfPage(name: string, amount: Quantity): boolean {
  try {
    const page = Quantity.parse(name.slice('hugepages-'.length));
    if (page.sign() <= 0 || page.milliValue() % 1000n !== 0n) return false;
    return amount.value() % page.value() === 0n;
  } catch {
    return false;
  }
}

/** Limits and requests of a container. `claims` are the names of the pod's resource claims. */
export function validateContainerResources(resources: Field, claims: ReadonlySet<string>): void {
  validateRequirements(resources, containerName, claims);
}

function validateRequirements(resources: Field, nameRule: NameRule, claims: ReadonlySet<string>): void {
  const limits = new Map(resources.get('limits').entries());
  const requests = resources.get('requests').entries();
  for (const [name, limit] of limits) validateAmount(name, limit, nameRule);
  for (const [name, request] of requests) {
    validateAmount(name, request, nameRule);
    validateAgainstLimit(name, request, limits.get(name), resources);
  }
  const names = [...limits.keys(), ...requests.map(([name]) => name)];
  if (names.some(isHugePage) && !names.includes('cpu') && !names.includes('memory'))
    resources.report('huge pages need cpu or memory beside them');
  validateClaimNames(resources.get('claims'), claims);
}

function validateAgainstLimit(name: string, request: Field, limit: Field | undefined, resources: Field): void {
  const list = resources.get('requests');
  if (!limit) {
    if (!mayOvercommit(name)) resources.get('limits').report(`${JSON.stringify(name)} needs a limit too`);
    return;
  }
  const order = quantity(request).cmp(quantity(limit));
  if (order !== 0 && !mayOvercommit(name)) list.report(`${name} ${request.shown} is not the limit ${limit.shown}`);
  else if (order > 0) list.report(`${name} ${request.shown} is above the limit ${limit.shown}`);
}

function validateClaimNames(list: Field, claims: ReadonlySet<string>): void {
  const seen = new Set<string>();
  for (const item of list.each()) {
    const name = item.get('name').text;
    const request = item.get('request');
    if (name === '') {
      item.report('names no claim');
      continue;
    }
    if (seen.has(name)) item.report(`${JSON.stringify(name)} is given twice`);
    else {
      request.reportAll(request.text === '' ? [] : dnsLabel(request.text));
      const key = request.text === '' ? name : `${name}/${request.text}`;
      const overlaps = seen.has(key) ? 1 : request.text === '' ? [...seen].filter((other) => other.startsWith(`${name}/`)).length : 0;
      for (let i = 0; i < overlaps; i++) item.report(`${JSON.stringify(key)} is given twice`);
      seen.add(key);
    }
    if (!claims.has(name)) item.report(`there is no claim ${JSON.stringify(name)} in spec.resourceClaims`);
  }
}

/** Resources that the pod runs on beside its containers (spec.overhead): Kubernetes takes them for limits. */
export function validateOverhead(overhead: Field): void {
  if (overhead.isSet) validateRequirements(overhead.with({ limits: overhead.value }), containerName, new Set());
}

/** Pod-level resources: not less than what the containers ask for (KEP-2837). */
export function validatePodResources(pod: Pod, spec: Field, claims: ReadonlySet<string>): void {
  const resources = spec.get('resources');
  if (!resources.isSet) return;
  if (spec.get('os').get('name').text === 'windows') {
    resources.report('is not for Windows pods');
    return;
  }
  if (resources.get('claims').isSet) resources.get('claims').report('is not for a whole pod');
  validateRequirements(resources, podName, claims);
  const requests = new Map(resources.get('requests').entries());
  for (const [name, sum] of aggregateContainerRequests(pod)) {
    const own = requests.get(name);
    if (own && sum.cmp(quantity(own)) > 0) own.report(`${own.shown} is less than the containers' ${sum.toString()} together`);
  }
  const limits = new Map(resources.get('limits').entries());
  for (const [name, sum] of aggregateContainerLimits(pod)) {
    const own = limits.get(name);
    if (own && isHugePage(name) && sum.cmp(quantity(own)) > 0)
      own.report(`${own.shown} is less than the containers' ${sum.toString()} together`);
  }
  spec
    .get('containers')
    .each()
    .forEach((container, i) => {
      for (const [name, limit] of container.get('resources').get('limits').entries()) {
        const own = limits.get(name);
        if (!own || quantity(limit).cmp(quantity(own)) <= 0) continue;
        limit.at(`${resources.path}.containers[${i}][${name}].limits`).report(`${limit.shown} is above the pod's limit ${own.shown}`);
      }
    });
}

/** Divisibility and sign of one amount, as for a claim's storage. */
export function validateStorage(amount: Field): void {
  if (!amount.require()) return;
  if (quantity(amount).sign() <= 0) amount.report('must be greater than 0');
}

export function validateResourceClaims(claims: Field): Set<string> {
  const names = new Set<string>();
  for (const claim of claims.each()) {
    const name = claim.get('name');
    if (name.require()) {
      if (names.has(name.text)) name.report(`${name.shown} is given twice`);
      else name.reportAll(dnsLabel(name.text));
      names.add(name.text);
    }
    const sources = ['resourceClaimName', 'resourceClaimTemplateName'].map((key) => claim.get(key)).filter((ref) => ref.isSet);
    if (sources.length !== 1) claim.report(sources.length === 0 ? 'names no claim and no template' : 'names a claim and a template');
    for (const source of sources) source.reportAll(dnsSubdomain(source.text));
  }
  return names;
}
