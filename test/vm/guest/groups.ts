import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ShownPod } from './node.ts';
import { expect, run } from './report.ts';

const ROOT = '/sys/fs/cgroup';
const CLASS_SLICE: Readonly<Record<string, string>> = {
  Guaranteed: 'kubepods.slice',
  Burstable: 'kubepods.slice/kubepods-burstable.slice',
  BestEffort: 'kubepods.slice/kubepods-besteffort.slice',
};

/** The group of a pod, below the root. */
export function groupOf(pod: ShownPod, qos: string): string {
  const above = CLASS_SLICE[qos] ?? '';
  const last = above.slice(above.lastIndexOf('/') + 1).replace(/\.slice$/, '');
  return `${above}/${last}-pod${pod.metadata.uid.replaceAll('-', '_')}.slice`;
}

/** Bytes that /proc/meminfo tells of `name`. */
export async function meminfo(name: string): Promise<number> {
  const found = new RegExp(`^${name}:\\s+([0-9]+) kB`, 'm').exec(await readFile('/proc/meminfo', 'utf8'));
  return Number(found?.[1]) * 1024;
}

export async function value(group: string, file: string): Promise<string> {
  return (await readFile(join(ROOT, group, file), 'utf8')).trim();
}

/** Compares files of a group with what they are to hold. */
export async function expectFiles(group: string, wanted: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(wanted)) expect(`${group}/${file}`, await value(group, file), text);
}

/** Groups of containers below a pod's. */
export async function containerGroups(pod: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, pod), { withFileTypes: true });
  return entries.filter((e) => e.isDirectory() && e.name.endsWith('.scope')).map((e) => `${pod}/${e.name}`);
}

/** The group of the container that runs there, not the sandbox's. */
export async function mainGroup(pod: ShownPod, group: string): Promise<string> {
  const id = pod.status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '') ?? 'none';
  const found = (await containerGroups(group)).find((name) => name.includes(id));
  if (found === undefined) throw new Error(`no group of container ${id} below ${group}`);
  return found;
}

/** Properties of a unit as systemd has them. */
export async function unitProperties(unit: string, ...names: string[]): Promise<Record<string, string>> {
  const text = await run('systemctl', 'show', unit, `--property=${names.join(',')}`);
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((l) => [l.slice(0, l.indexOf('=')), l.slice(l.indexOf('=') + 1)]),
  );
}

export async function podSlices(): Promise<string[]> {
  const found: string[] = [];
  for (const above of Object.values(CLASS_SLICE)) {
    const names = await readdir(join(ROOT, above)).catch(() => []);
    found.push(...names.filter((name) => /-pod[^/]*\.slice$/.test(name)));
  }
  return found;
}
