import { AppArmorAnnotationPrefix } from '../annotations.ts';
import type { Field } from './field.ts';
import { descendingPath, dnsLabel, dnsSubdomain, labelValue, qualifiedName } from './names.ts';
import { validateTolerations } from './tolerations.ts';

const MAX_ANNOTATION_BYTES = 256 * 1024;
const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const TOLERATIONS = 'scheduler.alpha.kubernetes.io/tolerations';
/** Those without a domain. */
const FINALIZERS = ['kubernetes', 'orphan', 'foregroundDeletion'];
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** What Kubernetes asks of a pod's metadata, the annotations with a meaning of their own included. */
export function validateMetadata(meta: Field, spec: Field): void {
  const generateName = meta.get('generateName');
  if (generateName.text !== '') generateName.reportAll(dnsSubdomain(generateName.text.replace(/-$/, 'a')));
  const name = meta.get('name');
  if (name.require()) name.reportAll(dnsSubdomain(name.text));
  const namespace = meta.get('namespace');
  if (namespace.require()) namespace.reportAll(dnsLabel(namespace.text));
  meta.get('generation').notNegative();
  validateLabels(meta.get('labels'));
  validateAnnotations(meta.get('annotations'));
  validateOwners(meta.get('ownerReferences'));
  validateFinalizers(meta.get('finalizers'));
  for (const entry of meta.get('managedFields').each()) validateManagedFields(entry);
  validateMeaningfulAnnotations(meta.get('annotations'), spec);
}

/** Labels, or a selector of labels: each fault is reported on the map itself. */
export function validateLabels(labels: Field): void {
  for (const [key, value] of labels.entries()) {
    for (const problem of qualifiedName(key)) labels.report(`the key ${JSON.stringify(key)} ${problem}`);
    for (const problem of labelValue(value.text)) labels.report(`the value ${value.shown} of ${JSON.stringify(key)} ${problem}`);
  }
}

/** Annotations of any object: each fault is reported on the map itself. */
export function validateAnnotations(annotations: Field): void {
  let size = 0;
  for (const [key, value] of annotations.entries()) {
    for (const problem of qualifiedName(key.toLowerCase())) annotations.report(`the key ${JSON.stringify(key)} ${problem}`);
    size += Buffer.byteLength(key) + Buffer.byteLength(value.text);
  }
  if (size > MAX_ANNOTATION_BYTES) annotations.report(`are ${size} bytes together, more than ${MAX_ANNOTATION_BYTES}`);
}

function validateOwners(owners: Field): void {
  let controllers = 0;
  for (const owner of owners.each()) {
    const version = owner.get('apiVersion');
    if (version.require() && !/^(?:[^/]*\/)?[^/]+$/.test(version.text)) version.report(`${version.shown} is no group/version`);
    for (const key of ['kind', 'name', 'uid']) owner.get(key).require();
    if (version.text === 'v1' && owner.get('kind').text === 'Event') owner.report('an Event owns nothing');
    if (owner.get('controller').isTrue) controllers += 1;
    if (controllers > 1 && owner.get('controller').isTrue) owners.report('only one owner may be the controller');
  }
}

function validateFinalizers(finalizers: Field): void {
  const names = finalizers.each();
  for (const name of names) {
    finalizers.with(name.value).reportAll(qualifiedName(name.text));
    if (!name.text.includes('/') && !FINALIZERS.includes(name.text)) name.report(`${name.shown} is no finalizer: it has no domain`);
  }
  const texts = names.map((name) => name.text);
  if (texts.includes('orphan') && texts.includes('foregroundDeletion'))
    finalizers.report('orphan and foregroundDeletion exclude each other');
}

function validateManagedFields(entry: Field): void {
  entry.get('operation').oneOf(['Apply', 'Update']);
  const type = entry.get('fieldsType');
  if (type.text !== '' && type.text !== 'FieldsV1') type.report(`${type.shown} is not FieldsV1`);
  const manager = entry.get('manager');
  if (Buffer.byteLength(manager.text) > 128) manager.report('is longer than 128 bytes');
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(manager.text)) manager.report('contains a character that cannot be printed');
  const subresource = entry.get('subresource');
  if (Buffer.byteLength(subresource.text) > 256) subresource.report('is longer than 256 bytes');
}

function validateMeaningfulAnnotations(annotations: Field, spec: Field): void {
  const known = new Map(annotations.entries());
  validateTolerationsAnnotation(annotations, known.get(TOLERATIONS));
  const cost = known.get(DELETION_COST);
  if (cost && !isInt32(cost.text)) cost.report(`${cost.shown} is no whole number of 32 bits`);
  for (const [key, value] of known) {
    if (key === SECCOMP_POD || key.startsWith(SECCOMP_CONTAINER)) validateSeccompAnnotation(value.at(`${annotations.path}.${key}`));
    if (key.startsWith(AppArmorAnnotationPrefix)) validateAppArmorAnnotation(value, key.slice(AppArmorAnnotationPrefix.length), spec);
  }
}

function validateTolerationsAnnotation(annotations: Field, value: Field | undefined): void {
  if (!value || value.text === '') return;
  try {
    const tolerations: unknown = JSON.parse(value.text);
    validateTolerations(annotations.get(TOLERATIONS).with(tolerations));
  } catch {
    annotations.report(`${TOLERATIONS} is no JSON list of tolerations`);
  }
}

function isInt32(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,9}|-[0-9]{1,10})$/.test(text) && Number(text) >= -(2 ** 31) && Number(text) < 2 ** 31;
}

function validateSeccompAnnotation(value: Field): void {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(value.text)) return;
  if (value.text.startsWith('localhost/')) value.reportAll(descendingPath(value.text.slice('localhost/'.length)));
  else value.report(`${value.shown} is no seccomp profile`, 'runtime/default, unconfined or localhost/FILE');
}

function validateAppArmorAnnotation(value: Field, container: string, spec: Field): void {
  if (!allContainers(spec).some((c) => c.get('name').text === container))
    value.report(`there is no container ${JSON.stringify(container)}`);
  const isProfile = ['', 'runtime/default', 'unconfined'].includes(value.text) || value.text.startsWith('localhost/');
  if (!isProfile) value.report(`${value.shown} is no AppArmor profile`, 'runtime/default, unconfined or localhost/PROFILE');
}

/** Init, regular and ephemeral containers, in this order. */
export function allContainers(spec: Field): Field[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) => spec.get(list).each());
}

/** A profile that is given both by a field and by an annotation must be the same in both. */
export function validateProfilesMatch(meta: Field, spec: Field): void {
  const annotations = new Map(meta.get('annotations').entries());
  const podSeccomp = annotations.get(SECCOMP_POD);
  if (podSeccomp) matchProfile(podSeccomp.text, spec.get('securityContext').get('seccompProfile'), ['runtime/default', 'docker/default']);
  for (const container of allContainers(spec)) {
    const annotation = annotations.get(SECCOMP_CONTAINER + container.get('name').text);
    if (annotation)
      matchProfile(annotation.text, container.get('securityContext').get('seccompProfile'), ['runtime/default', 'docker/default']);
  }
  if (spec.get('os').get('name').text === 'windows') return;
  const podProfile = spec.get('securityContext').get('appArmorProfile');
  for (const container of allContainers(spec)) {
    const annotation = annotations.get(AppArmorAnnotationPrefix + container.get('name').text);
    const own = container.get('securityContext').get('appArmorProfile');
    if (annotation) matchProfile(annotation.text, own.isSet ? own : podProfile.at(own.path), ['runtime/default']);
  }
}

function matchProfile(annotation: string, profile: Field, defaults: readonly string[]): void {
  const type = profile.get('type');
  const problem = 'differs from the annotation';
  if (type.text === 'Unconfined' && annotation !== 'unconfined') type.report(problem);
  if (type.text === 'RuntimeDefault' && !defaults.includes(annotation)) type.report(problem);
  if (type.text !== 'Localhost') return;
  const file = profile.get('localhostProfile');
  if (!annotation.startsWith('localhost/')) type.report(problem);
  else if (!file.isSet || annotation !== `localhost/${file.text}`) file.report(problem);
}
