import type { Pod } from './types.ts';

/** A pod sandbox as the runtime reported it: the part that decides whether it can be used. An `ObservedSandbox` is one. */
export interface SandboxRecord {
  readonly id: string;
  readonly attempt: number;
  readonly state: 'ready' | 'notready';
  readonly status: {
    readonly network?: { readonly ip: string };
    readonly namespaceOptions?: { readonly network: string };
  };
}

/** `message` says why a new sandbox is needed; `oldId` is empty where the old one is not to be named as its predecessor. */
export type SandboxVerdict =
  | { changed: false; attempt: number; oldId: string }
  | { changed: true; attempt: number; oldId: string; message: string };

/**
 * Whether the pod needs a new sandbox, and the attempt number of the one to use. `sandboxes` are newest first.
 * Source: contract pod-lifecycle.md §5, "Is a new sandbox needed"; messages: events.md §9.
 */
export function sandboxVerdict(pod: Pod, sandboxes: readonly SandboxRecord[]): SandboxVerdict {
  const newest = sandboxes[0];
  if (!newest) return { changed: true, attempt: 0, oldId: '', message: 'no pod sandbox exists' };
  const renew = (message: string, oldId = newest.id): SandboxVerdict => ({ changed: true, attempt: newest.attempt + 1, oldId, message });

  if (sandboxes.filter((s) => s.state === 'ready').length > 1) return renew('multiple pod sandboxes are ready and need to be reconciled');
  if (newest.state !== 'ready') return renew('pod sandbox is not ready');
  const hostNetwork = pod.spec.hostNetwork === true;
  // A runtime that sends no namespaces means the protocol's zero value, which is POD.
  if ((newest.status.namespaceOptions?.network ?? 'POD') !== (hostNetwork ? 'NODE' : 'POD')) {
    return renew('network namespace mode changed and sandbox needs to be recreated', '');
  }
  if (!hostNetwork && newest.status.network?.ip === '') return renew('pod sandbox has no IP address');
  return { changed: false, attempt: newest.attempt, oldId: newest.id };
}
