import { Quantity } from '../quantity.ts';
import type { Field } from './field.ts';
import { configKey, dnsLabel, dnsSubdomain, envName, hasBackstep, qualifiedName } from './names.ts';

const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
/** Fields that a volume can show. */
export const VolumeFields: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
];
const RESOURCES = ['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => [`limits.${name}`, `requests.${name}`]);
const HUGE_PAGES = /^(?:limits|requests)\.hugepages-/;
const BYTE_DIVISORS = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

export function validateEnv(vars: Field): void {
  for (const item of vars.each()) {
    const name = item.get('name');
    if (name.require()) name.reportAll(envName(name.text));
    const from = item.get('valueFrom');
    if (from.isSet) validateValueFrom(from, item.get('value').text !== '');
  }
}

function validateValueFrom(from: Field, hasValue: boolean): void {
  const given = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'].filter((key) => from.get(key).isSet);
  if (from.get('fieldRef').isSet) validateFieldRef(from.get('fieldRef'), ENV_FIELDS);
  if (from.get('resourceFieldRef').isSet) validateResourceFieldRef(from.get('resourceFieldRef'), false);
  for (const key of ['configMapKeyRef', 'secretKeyRef']) {
    const ref = from.get(key);
    if (!ref.isSet) continue;
    ref.get('name').reportAll(dnsSubdomain(ref.get('name').text));
    if (ref.get('key').require()) ref.get('key').reportAll(configKey(ref.get('key').text));
  }
  if (from.get('fileKeyRef').isSet) validateFileKeyRef(from.get('fileKeyRef'));
  if (given.length === 0) from.report('names no source', 'fieldRef, resourceFieldRef or fileKeyRef');
  else if (hasValue) from.report('is given beside a value');
  else if (given.length > 1) from.report(`names several sources: ${given.join(', ')}`);
}

function validateFileKeyRef(ref: Field): void {
  if (ref.get('key').require()) ref.get('key').reportAll(envName(ref.get('key').text));
  if (ref.get('volumeName').require()) ref.get('volumeName').reportAll(dnsLabel(ref.get('volumeName').text));
  const path = ref.get('path');
  if (path.require() && hasBackstep(path.text)) path.report(`${path.shown} contains '..'`);
}

/** A field of the pod that a variable or a volume shows; `allowed` are those without a subscript. */
export function validateFieldRef(ref: Field, allowed: readonly string[]): void {
  const path = ref.get('fieldPath');
  if (!ref.get('apiVersion').require() || !path.require()) return;
  const subscript = /^(.+?)\['(.*)'\]$/s.exec(path.text);
  if (ref.get('apiVersion').text !== 'v1') path.report('needs apiVersion v1 beside it');
  else if (!subscript) path.oneOf(path.text === 'spec.host' && allowed.includes('spec.nodeName') ? ['spec.host'] : allowed);
  else if (subscript[1] === 'metadata.labels') reportName(ref, subscript[2] ?? '');
  else if (subscript[1] === 'metadata.annotations') reportName(ref, (subscript[2] ?? '').toLowerCase());
  else path.report(`${path.shown}: only labels and annotations have a subscript`);
}

function reportName(ref: Field, name: string): void {
  for (const problem of qualifiedName(name)) ref.report(`the subscript ${JSON.stringify(name)} ${problem}`);
}

/** A resource of a container. A volume has to say of which one. */
export function validateResourceFieldRef(ref: Field, inVolume: boolean): void {
  const resource = ref.get('resource');
  const isNamed = !inVolume || ref.get('containerName').require();
  if (isNamed && resource.require() && !HUGE_PAGES.test(resource.text)) resource.oneOf(RESOURCES);
  const divisor = ref.get('divisor');
  if (!divisor.isSet) return;
  const quantity = Quantity.fromJson(divisor.value);
  if (quantity.isZero()) return;
  const allowed = resource.text.endsWith('.cpu') ? ['1m', '1'] : BYTE_DIVISORS;
  const isKnown = RESOURCES.includes(resource.text) || HUGE_PAGES.test(resource.text);
  if (isKnown && !allowed.includes(quantity.toString())) divisor.report(`${divisor.shown} is no divisor of it`, allowed.join(', '));
}

export function validateEnvFrom(list: Field): void {
  for (const item of list.each()) {
    item.get('prefix').reportAll(envName(item.get('prefix').text));
    const given = ['configMapRef', 'secretRef'].map((key) => item.get(key)).filter((ref) => ref.isSet);
    for (const ref of given) {
      const name = ref.get('name');
      if (name.require()) name.reportAll(dnsSubdomain(name.text.replace(/-$/, 'a')));
    }
    if (given.length !== 1) list.report(given.length === 0 ? 'has an entry without a source' : 'has an entry with two sources');
  }
}
