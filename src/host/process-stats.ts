import { readdir, readFile, readlink } from 'node:fs/promises';
import { parseOpenFileLimits } from './own-process.ts';

/** Bytes and packets since the interface began. */
export interface InterfaceCounts {
  name: string;
  rxBytes: number;
  rxPackets: number;
  rxErrors: number;
  rxDropped: number;
  txBytes: number;
  txPackets: number;
  txErrors: number;
  txDropped: number;
}

/** The machine's own loopback and the host's ends of containers' links say nothing of a pod or a node. */
const ignoredDevices = /^(lo|veth|docker|nerdctl)/i;

/** The interfaces of a net/dev file, in its order, without loopback and container links (as cAdvisor counts). */
export function parseNetDev(text: string): InterfaceCounts[] {
  return text.split('\n').flatMap((line) => {
    const found = /^\s*([^\s:]+):\s*(.*)$/.exec(line);
    const name = found?.[1] ?? '';
    const [rxBytes, rxPackets, rxErrors, rxDropped, , , , , txBytes, txPackets, txErrors, txDropped] = (found?.[2] ?? '')
      .split(/\s+/)
      .map(Number);
    if (name === '' || ignoredDevices.test(name) || txDropped === undefined) return [];
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0] = [rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors];
    return [{ name, rxBytes: a, rxPackets: b, rxErrors: c, rxDropped: d, txBytes: e, txPackets: f, txErrors: g, txDropped }];
  });
}

/** The interfaces that a process sees; undefined when it is gone. */
export async function networkOf(pid: number): Promise<InterfaceCounts[] | undefined> {
  const text = await readFile(`/proc/${pid}/net/dev`, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : parseNetDev(text);
}

/** What processes hold open. Those that went meanwhile count nothing. */
export interface OpenFiles {
  descriptors: number;
  sockets: number;
}

/** Links of one process looked at side by side; a process may hold a million. */
const LinksAtOnce = 32;

export async function openFilesOf(pids: readonly number[]): Promise<OpenFiles> {
  const open = { descriptors: 0, sockets: 0 };
  for (const pid of pids) {
    const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
    open.descriptors += names.length;
    for (let at = 0; at < names.length; at += LinksAtOnce) {
      const links = await Promise.all(names.slice(at, at + LinksAtOnce).map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
      open.sockets += links.filter((link) => link.startsWith('socket')).length;
    }
  }
  return open;
}

/** The soft limit of open files of a process; -1 for none, undefined when it is gone. */
export async function softFileLimit(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/limits`, 'utf8').catch(() => '');
  const { soft } = parseOpenFileLimits(text);
  if (Number.isNaN(soft)) return undefined;
  return Number.isFinite(soft) ? soft : -1;
}
