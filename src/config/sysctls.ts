const namespaced = new Set([
  'kernel.domainname',
  'kernel.sem',
  'kernel.shmall',
  'kernel.shmmax',
  'kernel.shmmni',
  'kernel.shm_rmid_forced',
  'kernel.shm',
  'kernel.msgmax',
  'kernel.msgmnb',
  'kernel.msgmni',
  'kernel.msg',
]);
const namespacedPrefixes = ['net.', 'fs.mqueue.', 'user.'];

const segment = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
const longest = 253;

/** With dots between the parts: `net/ipv4/conf/eno2.100/rp_filter` is `net.ipv4.conf.eno2/100.rp_filter`. */
export function normalizeSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replace(/[./]/g, (c) => (c === '.' ? '/' : '.'));
}

export function isSysctlName(name: string): boolean {
  return name.length <= longest && name.split(/[./]/).every((part) => segment.test(part));
}

const lastSegment = /^(?:[a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/;

/** A name, or a prefix that ends in `*`: `net.*`, `kernel.shm*`. */
export function isSysctlPattern(pattern: string): boolean {
  const parts = pattern.split(/[./]/);
  const last = parts.pop() ?? '';
  return pattern.length <= longest && parts.every((part) => segment.test(part)) && lastSegment.test(last);
}

/** True when the kernel keeps the value for each namespace, so that a pod can have its own. */
export function isNamespacedSysctl(nameOrPattern: string): boolean {
  const name = normalizeSysctl(nameOrPattern).split('*', 1)[0] ?? '';
  return namespaced.has(name) || namespacedPrefixes.some((prefix) => name.startsWith(prefix));
}
