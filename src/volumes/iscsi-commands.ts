import { type Source, textField } from './source-fields.ts';
import { VolumeError } from './volume-error.ts';

/** A unit of an iSCSI target, as a pod or a PersistentVolume names it. */
export interface IscsiTarget {
  /** With ports. The first one is the main one. */
  portals: string[];
  iqn: string;
  lun: number;
  /** Of iscsiadm; `default` is TCP. */
  iface: string;
  fsType: string;
  readOnly: boolean;
  initiatorName: string;
  /** Keys of the secret are settings of iscsiadm: whether they are set for logins to units, and for discovery. */
  chapSession: boolean;
  chapDiscovery: boolean;
}

const DefaultPort = 3260;

/** Throws VolumeError for what is no target. */
export function iscsiTarget(source: Source): IscsiTarget {
  const { portals, lun, chapAuthSession, chapAuthDiscovery, readOnly } = source;
  const others = Array.isArray(portals) ? portals.filter((portal) => typeof portal === 'string') : [];
  const all = [textField(source, 'targetPortal'), ...others].filter((portal) => portal !== '').map(withPort);
  const iqn = textField(source, 'iqn');
  if (all.length === 0) throw new VolumeError('invalid', 'iscsi: no targetPortal is given');
  if (!/^(iqn\.|eui\.|naa\.)[\w.:-]+$/i.test(iqn)) throw new VolumeError('invalid', `iscsi: ${JSON.stringify(iqn)} is no name of a target`);
  for (const portal of all) {
    if (!/^(\[[0-9a-fA-F:.%\w]+\]|\w[\w.-]*):\d+$/.test(portal))
      throw new VolumeError('invalid', `iscsi: ${JSON.stringify(portal)} is no portal`);
  }
  const iface = textField(source, 'iscsiInterface') || 'default';
  if (!/^\w[\w.:-]*$/.test(iface)) throw new VolumeError('invalid', `iscsi: ${JSON.stringify(iface)} is no interface`);
  return {
    portals: [...new Set(all)],
    iqn,
    lun: typeof lun === 'number' ? lun : 0,
    iface,
    fsType: textField(source, 'fsType'),
    readOnly: readOnly === true,
    initiatorName: textField(source, 'initiatorName'),
    chapSession: chapAuthSession === true,
    chapDiscovery: chapAuthDiscovery === true,
  };
}

function withPort(portal: string): string {
  if (/\]:\d+$/.test(portal) || /^[^:]+:\d+$/.test(portal)) return portal;
  return portal.includes(':') && !portal.startsWith('[') ? `[${portal}]:${DefaultPort}` : `${portal}:${DefaultPort}`;
}

/** Secrets of the target; keys are iscsiadm's own, e.g. `node.session.auth.username`. */
export type ChapSecret = ReadonlyMap<string, string>;

const SessionKeys = ['username', 'password', 'username_in', 'password_in'].map((key) => `node.session.auth.${key}`);
const DiscoveryKeys = ['username', 'password', 'username_in', 'password_in'].map((key) => `discovery.sendtargets.auth.${key}`);

/** The calls of iscsiadm(8) that lead to a session with the target at one portal, in their order. */
export function loginCommands({ iqn, iface, chapSession, chapDiscovery }: IscsiTarget, portal: string, secret: ChapSecret): string[][] {
  const record = ['-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', iface];
  const node = ['-m', 'node', '-p', portal, '-T', iqn, '-I', iface];
  const set = (base: string[], name: string, value: string) => [...base, '-o', 'update', '-n', name, '-v', value];
  const secrets = (base: string[], keys: readonly string[]) =>
    keys.flatMap((key) => {
      const value = secret.get(key);
      return value === undefined ? [] : [set(base, key, value)];
    });
  return [
    [...record, '-o', 'new'],
    ...(chapDiscovery ? [set(record, 'discovery.sendtargets.auth.authmethod', 'CHAP'), ...secrets(record, DiscoveryKeys)] : []),
    [...record, '--discover'],
    ...(chapSession ? [set(node, 'node.session.auth.authmethod', 'CHAP'), ...secrets(node, SessionKeys)] : []),
    // The agent scans for exactly the unit: others of the target are other pods' affair.
    set(node, 'node.session.scan', 'manual'),
    [...node, '--login'],
    set(node, 'node.startup', 'manual'),
  ];
}

/** The calls that end the sessions with a target and forget it. */
export function logoutCommands(portal: string, iqn: string, iface: string): string[][] {
  const node = ['-m', 'node', '-p', portal, '-T', iqn];
  return [
    [...node, '-I', iface, '--logout'],
    [...node, '-I', iface, '-o', 'delete'],
  ];
}

/** The name in /dev/disk/by-path of the unit at one portal. */
export function devicePattern({ iqn, lun, iface }: IscsiTarget, portal: string): RegExp {
  const quoted = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const prefix = iface === 'default' ? '' : 'pci-.*-';
  return new RegExp(`^${prefix}ip-${quoted(portal)}-iscsi-${quoted(iqn)}-lun-${lun}$`);
}

/** Where the unit is mounted for all pods, below the plug-in's directory; `targetOfPlace` reads it back. */
export function placeOf({ portals, iqn, lun, iface }: IscsiTarget): string {
  return `iface-${iface}/${portals[0] ?? ''}-${iqn}-lun-${lun}`;
}

export function targetOfPlace(place: string): { portal: string; iqn: string; lun: number; iface: string } | undefined {
  const found = /^iface-([^/]+)\/(.+:\d+)-((?:iqn\.|eui\.|naa\.).+)-lun-(\d+)$/i.exec(place);
  const [, iface, portal, iqn, lun] = found ?? [];
  if (iface === undefined || portal === undefined || iqn === undefined) return undefined;
  return { iface, portal, iqn, lun: Number(lun) };
}
