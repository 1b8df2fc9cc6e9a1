import { Quantity } from '../quantity.ts';
import { VolumeFields, validateFieldRef, validateResourceFieldRef } from './env.ts';
import type { Field } from './field.ts';
import { validateAnnotations, validateLabels } from './metadata.ts';
import { dnsLabel, dnsSubdomain, unixId, volumeFilePath } from './names.ts';
import { validatePodCertificate, validateTrustBundle } from './projected-certificates.ts';
import { validateStorage } from './resource-rules.ts';
import { validateLabelSelector } from './selectors.ts';
import { VolumeSourceOrder, volumeSourceRules } from './volume-sources.ts';

/** Validates the pod's volumes and returns the sound ones by name: a mount of another one has no volume. */
export function validateVolumes(spec: Field, podName: string): Map<string, Field> {
  const volumes = spec.get('volumes').each();
  const sound = new Map<string, Field>();
  const claims = new Set(
    volumes.filter((volume) => volume.get('ephemeral').isSet).map((volume) => `${podName}-${volume.get('name').text}`),
  );
  for (const volume of volumes) {
    const faults: number = countFaults(() => validateVolume(volume, podName), volume);
    const name = volume.get('name');
    const isTaken = sound.has(name.text);
    if (isTaken) name.report(`${name.shown} is the name of another volume too`);
    if (faults === 0 && !isTaken) sound.set(name.text, volume);
    const claim = volume.get('persistentVolumeClaim').get('claimName');
    if (volume.get('persistentVolumeClaim').isSet && claims.has(claim.text))
      claim.report('is the claim of an ephemeral volume of this pod');
  }
  return sound;
}

function countFaults(run: () => void, field: Field): number {
  const before = field.faultCount;
  run();
  return field.faultCount - before;
}

function validateVolume(volume: Field, podName: string): void {
  const given = VolumeSourceOrder.filter((key) => volume.get(key).isSet);
  const [first, ...more] = given;
  if (first === undefined) volume.report('has no source');
  else if (first === 'emptyDir') validateEmptyDir(volume.get('emptyDir'));
  else validateSource(first, volume, podName);
  for (const key of more) volume.get(refusalNames[key] ?? key).report(`is given beside ${first}: a volume has one source`);
  const iscsi = volume.get('iscsi');
  const name = volume.get('name');
  const isTooLong = Buffer.byteLength(`${name.text}:${iscsi.get('targetPortal').text}`) > 64;
  if (iscsi.get('initiatorName').isSet && isTooLong) name.report('is, with the target portal of its iSCSI disk, longer than 64 characters');
  if (name.require()) name.reportAll(dnsLabel(name.text));
}

/** Kubernetes spells these two differently when it refuses a second source. */
const refusalNames: Readonly<Record<string, string>> = { cephfs: 'cephFS', downwardAPI: 'downwarAPI' };

function validateEmptyDir(source: Field): void {
  const limit = source.get('sizeLimit');
  if (limit.isSet && Quantity.fromJson(limit.value).sign() < 0) limit.report(`${limit.shown} is negative`);
  if (source.get('mode').isSet) source.get('mode').range(0, 0o1777);
}

function validateSource(key: string, volume: Field, podName: string): void {
  const source = volume.get(key);
  if (key === 'downwardAPI') validateDownwardAPI(source);
  else if (key === 'secret' || key === 'configMap') validateFiles(source, key === 'secret' ? 'secretName' : 'name');
  else if (key === 'projected') validateProjected(source);
  else if (key === 'ephemeral') validateEphemeral(source, volume, podName);
  else volumeSourceRules[key]?.(source);
}

function validateModeAndUser(holder: Field, mode: string, user: string): void {
  if (holder.get(mode).isSet) holder.get(mode).range(0, 0o777);
  if (holder.get(user).isSet) holder.get(user).reportAll(unixId(holder.get(user).number));
}

function validateKeyToPath(item: Field): void {
  item.get('key').require();
  const path = item.get('path');
  path.require();
  path.reportAll(volumeFilePath(path.text));
  validateModeAndUser(item, 'mode', 'user');
}

function validateFiles(source: Field, name: string): void {
  source.get(name).require();
  validateModeAndUser(source, 'defaultMode', 'defaultUser');
  for (const item of source.get('items').each()) validateKeyToPath(item);
}

function validateDownwardAPI(source: Field): void {
  validateModeAndUser(source, 'defaultMode', 'defaultUser');
  for (const item of source.get('items').each()) validateDownwardFile(item, source);
}

/** Kubernetes names the volume's path, without the item. */
function validateDownwardFile(item: Field, holder: Field): void {
  const file = item.at(holder.path);
  const path = file.get('path');
  path.require();
  path.reportAll(volumeFilePath(path.text));
  const field = file.get('fieldRef');
  const resource = file.get('resourceFieldRef');
  if (field.isSet) {
    validateFieldRef(field, VolumeFields);
    if (resource.isSet) file.report('names a field and a resource');
  } else if (resource.isSet) validateResourceFieldRef(resource, true);
  else file.report('names neither a field nor a resource');
  validateModeAndUser(file, 'mode', 'user');
}

const PROJECTIONS = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken', 'clusterTrustBundle', 'podCertificate'];

function validateProjected(projected: Field): void {
  validateModeAndUser(projected, 'defaultMode', 'defaultUser');
  const paths = new Set<string>();
  const take = (path: string): void => {
    if (paths.has(path)) projected.report(`two sources write ${JSON.stringify(path)}`);
    paths.add(path);
  };
  for (const source of projected.get('sources').each()) {
    for (const key of ['secret', 'configMap']) {
      if (!source.get(key).isSet) continue;
      source.get(key).get('name').require();
      for (const item of source.get(key).get('items').each()) {
        validateKeyToPath(item);
        if (item.get('path').text !== '') take(item.get('path').text);
      }
    }
    for (const item of source.get('downwardAPI').get('items').each()) {
      validateDownwardFile(item, source.get('downwardAPI'));
      if (item.get('path').text !== '') take(item.get('path').text);
    }
    if (source.get('serviceAccountToken').isSet) validateToken(source.get('serviceAccountToken'), projected);
    if (source.get('clusterTrustBundle').isSet) validateTrustBundle(source.get('clusterTrustBundle'), take);
    if (source.get('podCertificate').isSet) validatePodCertificate(source.get('podCertificate'), take);
    if (PROJECTIONS.filter((key) => source.get(key).isSet).length > 1) source.report('names more than one source');
  }
}

function validateToken(token: Field, projected: Field): void {
  const seconds = token.get('expirationSeconds');
  if (seconds.number < 600) seconds.report('is less than 10 minutes');
  if (seconds.number > 2 ** 32) seconds.report('is more than 2^32 seconds');
  const path = token.get('path').at(`${projected.path}.path`);
  if (path.require()) path.reportAll(volumeFilePath(path.text));
  if (token.get('user').isSet) token.get('user').reportAll(unixId(token.get('user').number));
}

/** What a template may not say, as Kubernetes spells it. */
const NOT_IN_TEMPLATE =
  'name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp deletionGracePeriodSeconds ownerReferences finalizers managedFields';

const ZERO_TIME = '0001-01-01T00:00:00Z';

function validateTemplateMetadata(metadata: Field): void {
  validateAnnotations(metadata.get('annotations'));
  validateLabels(metadata.get('labels'));
  for (const key of NOT_IN_TEMPLATE.split(' ')) {
    const field = metadata.get(key);
    const isPointer = key.startsWith('deletion');
    const isZero = !field.isSet || (!isPointer && ['', 0, ZERO_TIME].includes(field.value as string | number));
    if (!isZero) field.at(`${metadata.path}.${key === 'uid' ? 'uID' : key}`).report('cannot be set in a template');
  }
}

/** What a claim is filled from; both ways to say it must agree. */
function validateDataSources(claim: Field): void {
  const source = claim.get('dataSource');
  const ref = claim.get('dataSourceRef');
  for (const from of [source, ref].filter((field) => field.isSet)) {
    const group = from.get('apiGroup');
    from.get('name').require();
    from.get('kind').require();
    if (group.text !== '') group.reportAll(dnsSubdomain(group.text));
    else if (from.get('kind').text !== 'PersistentVolumeClaim') from.report('must be a PersistentVolumeClaim without an apiGroup');
    const namespace = from.get('namespace');
    if (namespace.text !== '') namespace.reportAll(dnsLabel(namespace.text));
  }
  if (!source.isSet || !ref.isSet) return;
  const differs = ['apiGroup', 'kind', 'name'].some((key) => source.get(key).value !== ref.get(key).value);
  if (ref.get('namespace').text !== '' || differs) claim.report('dataSource and dataSourceRef must be the same');
}

const ACCESS_MODES = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'];

function validateEphemeral(source: Field, volume: Field, podName: string): void {
  const template = source.get('volumeClaimTemplate');
  if (template.require()) {
    validateTemplateMetadata(template.get('metadata'));
    const claim = template.get('spec');
    const modes = claim.get('accessModes');
    modes.require();
    for (const mode of modes.each()) modes.with(mode.value).oneOf(ACCESS_MODES);
    const texts = modes.each().map((mode) => mode.text);
    const isMixed = texts.includes('ReadWriteOncePod') && texts.some((text) => text !== 'ReadWriteOncePod' && ACCESS_MODES.includes(text));
    if (isMixed) modes.report('ReadWriteOncePod goes with no other mode');
    validateLabelSelector(claim.get('selector'));
    validateStorage(claim.get('resources').get('requests').get('storage').at(`${claim.path}.resources[storage]`));
    for (const key of ['storageClassName', 'volumeAttributesClassName']) {
      if (claim.get(key).text !== '') claim.get(key).reportAll(dnsSubdomain(claim.get(key).text));
    }
    validateDataSources(claim);
    if (claim.get('volumeMode').isSet) claim.get('volumeMode').oneOf(['Block', 'Filesystem']);
  }
  const name = volume.get('name');
  if (name.text !== '') for (const problem of dnsSubdomain(`${podName}-${name.text}`)) name.report(`makes a claim whose name ${problem}`);
}
