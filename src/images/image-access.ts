import { type Credential, credentialHash } from './credential-index.ts';
import { bareName, isSame, type PulledRecord, type PullSecret, type PullServiceAccount } from './pull-record.ts';

/** True when a pod must show that it may use a present image. `pulledHere`: this node pulled it, or is pulling it. */
export type VerificationPolicy = (image: string, pulledHere: boolean) => boolean;

/** imagePullCredentialsVerificationPolicy (contract: pod-lifecycle.md §6); the configuration was validated. */
export function verificationPolicy(name: string, allowlist: readonly string[]): VerificationPolicy {
  switch (name) {
    case 'NeverVerify':
      return () => false;
    case 'AlwaysVerify':
      return () => true;
    case 'NeverVerifyAllowlistedImages': {
      const names = new Set(allowlist.filter((pattern) => !pattern.endsWith('/*')));
      const prefixes = allowlist.filter((pattern) => pattern.endsWith('/*')).map((pattern) => pattern.slice(0, -1));
      return (image) => {
        const bare = bareName(image);
        return !names.has(bare) && !prefixes.some((prefix) => bare.startsWith(prefix));
      };
    }
    default:
      return (_image, pulledHere) => pulledHere;
  }
}

/** What a pod can show: its secrets' logins for the image, and its service account where a plug-in asks for it. */
export interface PodProofs {
  secrets: readonly PullSecret[];
  serviceAccount: PullServiceAccount | undefined;
}

export function proofsOf(credentials: readonly Credential[]): PodProofs {
  const secrets: PullSecret[] = [];
  let serviceAccount: PullServiceAccount | undefined;
  for (const credential of credentials) {
    if (credential.source === undefined) continue;
    const { kind, uid, namespace, name } = credential.source;
    if (kind === 'secret') secrets.push({ uid, namespace, name, credentialHash: credentialHash(credential) });
    else serviceAccount ??= { uid, namespace, name };
  }
  return { secrets, serviceAccount };
}

/** Above this many secrets a record learns no more of them from pods that were let in. */
const MaxLearnt = 100;

/** Whether the record lets everybody in, nobody, or those with the right proofs. */
export function recordAdmits(record: PulledRecord | undefined, image: string): 'everybody' | 'nobody' | 'some' {
  const known = record?.credentialMapping.get(bareName(image));
  if (known?.nodePodsAccessible === true) return 'everybody';
  return (known?.kubernetesSecrets ?? []).length + (known?.kubernetesServiceAccounts ?? []).length === 0 ? 'nobody' : 'some';
}

/**
 * Whether a pod is let in by its proofs: the same login in whatever secret, the same secret whatever is in it now, or
 * the same service account. `learnt` is a secret that the record should know, too.
 */
export function admits(record: PulledRecord, image: string, proofs: PodProofs): { allowed: boolean; learnt?: PullSecret } {
  const known = record.credentialMapping.get(bareName(image));
  const secrets = known?.kubernetesSecrets ?? [];
  for (const shown of proofs.secrets) {
    const byLogin = secrets.some((s) => s.credentialHash !== '' && s.credentialHash === shown.credentialHash);
    const byName = secrets.find((s) => isSame(s, shown));
    if (!byLogin && byName === undefined) continue;
    const isKnown = byName?.credentialHash === shown.credentialHash;
    return isKnown || secrets.length >= MaxLearnt ? { allowed: true } : { allowed: true, learnt: shown };
  }
  const { serviceAccount } = proofs;
  if (serviceAccount === undefined) return { allowed: false };
  return { allowed: (known?.kubernetesServiceAccounts ?? []).some((account) => isSame(account, serviceAccount)) };
}
