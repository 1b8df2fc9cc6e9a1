import type { Pod } from '../api/types.ts';

/** Kernel parameters of pods: which are safe, which the administrator allows. Source: vectors sysctls. */

export type SysctlNamespace = 'IPC' | 'Net' | 'UTS' | 'User' | '';

export const FORBIDDEN_REASON = 'SysctlForbidden';
const MAX_LENGTH = 253;

/** Safe parameters, and the first kernel that has them per namespace. */
const SAFE: readonly [name: string, kernel?: readonly [number, number]][] = [
  ['kernel.shm_rmid_forced'],
  ['net.ipv4.ip_local_port_range'],
  ['net.ipv4.tcp_syncookies'],
  ['net.ipv4.ping_group_range'],
  ['net.ipv4.ip_unprivileged_port_start'],
  ['net.ipv4.ip_local_reserved_ports', [3, 16]],
  ['net.ipv4.tcp_keepalive_time', [4, 5]],
  ['net.ipv4.tcp_fin_timeout', [4, 6]],
  ['net.ipv4.tcp_keepalive_intvl', [4, 5]],
  ['net.ipv4.tcp_keepalive_probes', [4, 5]],
  ['net.ipv4.tcp_rmem', [4, 15]],
  ['net.ipv4.tcp_wmem', [4, 15]],
  ['net.ipv4.tcp_slow_start_after_idle', [4, 15]],
  ['net.ipv4.tcp_notsent_lowat', [4, 6]],
];

const NAMESPACES = new Map<string, SysctlNamespace>([
  ['kernel.domainname', 'UTS'],
  ['kernel.sem', 'IPC'],
  ['kernel.shmall', 'IPC'],
  ['kernel.shmmax', 'IPC'],
  ['kernel.shmmni', 'IPC'],
  ['kernel.shm_rmid_forced', 'IPC'],
  ['kernel.shm', 'IPC'],
  ['kernel.msgmax', 'IPC'],
  ['kernel.msgmnb', 'IPC'],
  ['kernel.msgmni', 'IPC'],
  ['kernel.msg', 'IPC'],
]);
const PREFIXES: readonly [prefix: string, namespace: SysctlNamespace][] = [
  ['net.', 'Net'],
  ['fs.mqueue.', 'IPC'],
  ['user.', 'User'],
];

export class SysctlError extends Error {
  readonly code = 'invalid-sysctl';
  constructor(message: string) {
    super(message);
    this.name = 'SysctlError';
  }
}

/** Major and minor of a kernel release; undefined where it is none. */
function kernelVersion(release: string): [number, number] | undefined {
  const [, major = '', minor = ''] = /^\s*v?(0|[1-9][0-9]*)\.([0-9]+)/.exec(release) ?? [];
  return major === '' ? undefined : [Number(major), Number(minor)];
}

/** The safe parameters of a kernel release ("6.8.0-31-generic"); of an unreadable one only those that every kernel has. */
export function safeSysctls(kernelRelease: string): string[] {
  const kernel = kernelVersion(kernelRelease);
  const has = (since: readonly [number, number] | undefined): boolean => {
    if (since === undefined) return true;
    return kernel !== undefined && (kernel[0] > since[0] || (kernel[0] === since[0] && kernel[1] >= since[1]));
  };
  return SAFE.filter(([, since]) => has(since)).map(([name]) => name);
}

/** The name with dots between its parts; where slashes separate (the first separator is one), both are swapped. */
export function normalizeSysctl(name: string): string {
  const first = name.search(/[./]/);
  if (first < 0 || name[first] === '.') return name;
  return name.replace(/[./]/g, (separator) => (separator === '.' ? '/' : '.'));
}

/** The kernel namespace of a parameter or of a pattern that ends in `*`, and the part before the `*`. */
export function sysctlNamespace(pattern: string): { namespace: SysctlNamespace; prefix: string; isPrefix: boolean } {
  const normal = normalizeSysctl(pattern);
  const star = normal.indexOf('*');
  const prefix = star < 0 ? normal : normal.slice(0, star);
  const namespace = NAMESPACES.get(prefix) ?? PREFIXES.find(([p]) => prefix.startsWith(p))?.[1] ?? '';
  return { namespace, prefix, isPrefix: star >= 0 };
}

/** Parts of lower-case letters, digits, `-` and `_`; the last may end in `*`, or be `*`. */
function isPattern(text: string): boolean {
  if (text.length > MAX_LENGTH) return false;
  const parts = text.split(/[./]/);
  const last = parts.pop() ?? '';
  return parts.every((part) => /^[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/.test(part)) && /^([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$/.test(last);
}

export class SysctlAllowlist {
  readonly #names = new Map<string, SysctlNamespace>();
  readonly #prefixes: [prefix: string, namespace: SysctlNamespace][] = [];

  /** Throws SysctlError for a pattern that is malformed or not known to be per namespace. */
  constructor(patterns: readonly string[]) {
    for (const pattern of patterns) {
      if (!isPattern(pattern)) {
        throw new SysctlError(
          `sysctl ${JSON.stringify(pattern)}: want parts of a-z, 0-9, - and _ with dots between, at most ${MAX_LENGTH} characters`,
        );
      }
      const { namespace, prefix, isPrefix } = sysctlNamespace(pattern);
      if (namespace === '') throw new SysctlError(`the sysctls ${JSON.stringify(prefix)} are not known to be namespaced`);
      if (isPrefix) this.#prefixes.push([prefix, namespace]);
      else this.#names.set(prefix, namespace);
    }
  }

  #namespaceOf(name: string): SysctlNamespace | undefined {
    return this.#names.get(name) ?? this.#prefixes.find(([prefix]) => name.startsWith(prefix))?.[1];
  }

  /** Why the pod may not have its parameters; undefined when it may. The message form is the real kubelet's. */
  refusal(pod: Pick<Pod, 'spec'>): { reason: string; message: string } | undefined {
    const { hostNetwork, hostIPC, hostUsers, securityContext } = pod.spec;
    const shared: Record<SysctlNamespace, boolean> = {
      IPC: hostIPC === true,
      Net: hostNetwork === true,
      User: hostUsers !== false,
      UTS: false,
      '': false,
    };
    for (const sysctl of securityContext?.sysctls ?? []) {
      const name = normalizeSysctl(sysctl.name);
      const namespace = this.#namespaceOf(name);
      const forbid = (why: string) => ({ reason: FORBIDDEN_REASON, message: `forbidden sysctl: ${JSON.stringify(name)} ${why}` });
      if (namespace === undefined) return forbid('not allowlisted');
      if (shared[namespace]) return forbid(`not allowed with host ${namespace} enabled`);
    }
    return undefined;
  }
}
