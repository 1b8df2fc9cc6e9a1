import type { Field } from './field.ts';
import { descendingPath, dnsLabel, dnsSubdomain, hasBackstep } from './names.ts';

/** Every kind of volume, in the order in which Kubernetes looks: the first one given counts, the others are refused. */
export const VolumeSourceOrder: readonly string[] =
  `emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker persistentVolumeClaim rbd cinder cephfs
  quobyte downwardAPI fc flexVolume configMap azureFile vsphereVolume photonPersistentDisk portworxVolume azureDisk storageos projected scaleIO csi
  ephemeral image`.split(/\s+/);

const HOST_PATH_TYPES = ['', 'DirectoryOrCreate', 'Directory', 'FileOrCreate', 'File', 'Socket', 'CharDevice', 'BlockDevice'];
const IQN = /iqn\.\d{4}-\d{2}\.[a-zA-Z0-9.-]+:[^,;*&$|\s]+$/;
const EUI = /^eui.[a-zA-Z0-9]{16}$/;
const NAA = /^naa.[a-zA-Z0-9]{32}$/;

function requireAll(source: Field, ...keys: string[]): void {
  for (const key of keys) source.get(key).require();
}

function secretName(source: Field, key: string): void {
  if (source.get(key).isSet) source.get(key).get('name').require();
}

/** Rules of the sources that have no file of their own. */
export const volumeSourceRules: Readonly<Record<string, (source: Field) => void>> = {
  hostPath(source) {
    const path = source.get('path');
    if (!path.require()) return;
    if (hasBackstep(path.text)) path.report(`${path.shown} contains '..'`);
    const type = source.get('type');
    if (type.isSet && !HOST_PATH_TYPES.includes(type.text))
      type.report(`${type.shown} is not supported`, HOST_PATH_TYPES.slice(1).join(', '));
  },
  gitRepo(source) {
    source.get('repository').require();
    source.get('directory').reportAll(descendingPath(source.get('directory').text));
  },
  gcePersistentDisk(source) {
    // Kubernetes names this one by an older name.
    const disk = source.at(source.path.replace(/gcePersistentDisk$/, 'persistentDisk'));
    disk.get('pdName').require();
    disk.get('partition').range(0, 255);
  },
  awsElasticBlockStore(source) {
    source.get('volumeID').require();
    source.get('partition').range(0, 255);
  },
  nfs(source) {
    requireAll(source, 'server', 'path');
    if (!source.get('path').text.startsWith('/')) source.get('path').report('is no absolute path');
  },
  iscsi(source) {
    source.get('targetPortal').require();
    const iqn = source.get('iqn');
    if (iqn.require() && !isInitiator(iqn.text)) iqn.report(`${iqn.shown} is no iqn., eui. or naa. name`);
    source.get('lun').range(0, 255);
    const usesChap = source.get('chapAuthDiscovery').isTrue || source.get('chapAuthSession').isTrue;
    if (usesChap) source.get('secretRef').require('is missing beside CHAP');
    const initiator = source.get('initiatorName');
    if (initiator.isSet && !isInitiator(initiator.text))
      source.get('initiatorname').report(`${initiator.shown} is no iqn., eui. or naa. name`);
  },
  glusterfs: (source) => requireAll(source, 'endpoints', 'path'),
  flocker(source) {
    const name = source.get('datasetName');
    const uuid = source.get('datasetUUID').text;
    if (name.text === '' && uuid === '') source.report('needs datasetName or datasetUUID');
    if (name.text !== '' && uuid !== '') source.report('has datasetName and datasetUUID');
    if (name.text.includes('/')) name.report('contains a slash');
  },
  persistentVolumeClaim: (source) => requireAll(source, 'claimName'),
  rbd: (source) => requireAll(source, 'monitors', 'image'),
  cinder(source) {
    source.get('volumeID').require();
    secretName(source, 'secretRef');
  },
  cephfs: (source) => requireAll(source, 'monitors'),
  quobyte(source) {
    const registry = source.get('registry');
    if (registry.require()) {
      if (Buffer.byteLength(source.get('tenant').text) >= 65) source.get('tenant').report('is longer than 64 characters');
      else for (const pair of registry.text.split(',')) if (!isHostPort(pair)) registry.report(`${JSON.stringify(pair)} is no host:port`);
    }
    source.get('volume').require();
  },
  fc(source) {
    const wwns = source.get('targetWWNs');
    const wwids = source.get('wwids').count;
    if (wwns.count === 0 && wwids === 0) wwns.report('is missing, and so is wwids');
    if (wwns.count > 0 && wwids > 0) wwns.report('is given beside wwids');
    if (wwns.count === 0) return;
    if (source.get('lun').require()) source.get('lun').range(0, 255);
  },
  flexVolume(source) {
    source.get('driver').require();
    for (const [key, option] of source.get('options').entries()) {
      const domain = `.${(key.includes('/') ? key.slice(0, key.indexOf('/')) : key).toLowerCase()}`;
      if (domain.endsWith('.kubernetes.io') || domain.endsWith('.k8s.io')) option.report('is in a reserved namespace');
    }
  },
  azureFile: (source) => requireAll(source, 'secretName', 'shareName'),
  vsphereVolume: (source) => requireAll(source, 'volumePath'),
  photonPersistentDisk: (source) => requireAll(source, 'pdID'),
  portworxVolume: (source) => requireAll(source, 'volumeID'),
  azureDisk(source) {
    requireAll(source, 'diskName', 'diskURI');
    source.get('cachingMode').oneOf(['None', 'ReadOnly', 'ReadWrite']);
    source.get('kind').oneOf(['Shared', 'Dedicated', 'Managed']);
    const start = source.get('kind').text === 'Managed' ? '/subscriptions/' : 'https://';
    if (!source.get('diskURI').text.startsWith(start)) source.get('diskURI').report(`does not begin with ${start}`);
  },
  storageos(source) {
    const name = source.get('volumeName');
    if (name.require()) name.reportAll(dnsLabel(name.text));
    const namespace = source.get('volumeNamespace');
    if (namespace.text !== '') namespace.reportAll(dnsLabel(namespace.text));
    secretName(source, 'secretRef');
  },
  scaleIO: (source) => requireAll(source, 'gateway', 'system', 'volumeName'),
  csi(source) {
    const driver = source.get('driver');
    if (driver.require()) {
      if (Buffer.byteLength(driver.text) > 63) driver.report('is longer than 63 characters');
      driver.reportAll(dnsSubdomain(driver.text.toLowerCase()));
    }
    const secret = source.get('nodePublishSecretRef');
    const name = secret.get('name');
    if (secret.isSet && name.require()) name.at(`${source.path}.name`).reportAll(dnsSubdomain(name.text));
  },
  image(source) {
    source.get('reference').require();
    source.get('pullPolicy').oneOf(['Always', 'IfNotPresent', 'Never']);
  },
};

function isInitiator(name: string): boolean {
  if (name.startsWith('iqn')) return IQN.test(name);
  if (name.startsWith('eui')) return EUI.test(name);
  return name.startsWith('naa') && NAA.test(name);
}

function isHostPort(text: string): boolean {
  return /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(text);
}
