import { basePath, joinPath } from '../api/path.ts';

/**
 * Names of cgroups, independent of the driver: the parts from the root on, as ["kubepods", "burstable", "pod1-2"].
 * Source: vectors cgroup-names; contract pod-lifecycle.md §13.
 */
export type CgroupName = readonly string[];

export type CgroupDriver = 'cgroupfs' | 'systemd';

const SLICE = '.slice';
const NODE_ALLOCATABLE = 'kubepods';

export class CgroupNameError extends Error {
  readonly code = 'invalid-cgroup-name';
  constructor(name: string, reason: string) {
    super(`invalid cgroup name ${JSON.stringify(name)}: ${reason}`);
    this.name = 'CgroupNameError';
  }
}

/** A name below another. An underscore is refused, because systemd names use it for a dash. Throws CgroupNameError. */
export function cgroupName(base: CgroupName, ...components: readonly string[]): CgroupName {
  for (const component of components) {
    if (/[/_]/.test(component)) throw new CgroupNameError(component, 'a part holds a slash or an underscore');
  }
  return [...base, ...components];
}

/** The path below the cgroup root: `/kubepods/burstable/pod1-2`. */
export function toCgroupfs(name: CgroupName): string {
  return `/${joinPath(...name)}`;
}

/** The path of slices: `/kubepods.slice/kubepods-burstable.slice/…`. Throws CgroupNameError where systemd takes no such name. */
export function toSystemd(name: CgroupName): string {
  if (name.length === 0 || (name.length === 1 && name[0] === '')) return '/';
  const slice = name.map((part) => part.replaceAll('-', '_')).join('-');
  if (slice === '-') return '/';
  if (slice === '' || slice.includes('/')) throw new CgroupNameError(slice, 'systemd takes no such slice');
  const parts = slice.split('-');
  if (parts.includes('')) throw new CgroupNameError(slice, 'a part is empty');
  return parts.map((_, i) => `/${parts.slice(0, i + 1).join('-')}${SLICE}`).join('');
}

/** The path of a name in a driver's form. */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'systemd' ? toSystemd(name) : toCgroupfs(name);
}

/** What the runtime is told as parent of a sandbox: a path, or with systemd the last slice alone. */
export function cgroupParent(name: CgroupName, driver: CgroupDriver): string {
  return driver === 'systemd' ? basePath(toSystemd(name)) : toCgroupfs(name);
}

/** The name of a slice, by the last element of a path. */
export function parseSystemd(text: string): CgroupName {
  const base = basePath(text);
  const slice = base.endsWith(SLICE) ? base.slice(0, -SLICE.length) : base;
  return slice.split('-').map((part) => part.replaceAll('_', '-'));
}

/** The name of a path below the cgroup root. */
export function parseCgroupfs(text: string): CgroupName {
  const relative = text.startsWith('/') ? text.slice(1) : text;
  return relative === '' ? [] : relative.split('/');
}

export function isSystemdStyleName(text: string): boolean {
  return text.endsWith(SLICE);
}

/** The last part of a pod's cgroup name. */
export function podCgroupSuffix(uid: string): string {
  return `pod${uid}`;
}

/** The name under which pods live: the configured root, and `kubepods` when cgroups are made per QoS class. */
export function nodeAllocatableName(cgroupRoot: string, cgroupsPerQOS: boolean): CgroupName {
  const root = parseCgroupfs(cgroupRoot);
  return cgroupsPerQOS ? cgroupName(root, NODE_ALLOCATABLE) : root;
}

/** The path under which pods live. */
export function nodeAllocatableRoot(cgroupRoot: string, cgroupsPerQOS: boolean, driver: CgroupDriver): string {
  return cgroupPath(nodeAllocatableName(cgroupRoot, cgroupsPerQOS), driver);
}
