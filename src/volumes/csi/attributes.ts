import type { Pod } from '../../api/types.ts';
import { goJson } from '../../compat/go-json.ts';
import type { StringMap } from './node-client.ts';
import type { LifecycleMode } from './vol-data.ts';

const TokensKey = 'csi.storage.k8s.io/serviceAccount.tokens';

/** A service account's token as drivers get it. */
export interface DriverToken {
  token: string;
  /** RFC 3339. */
  expirationTimestamp: string;
}

/** What a driver with podInfoOnMount is told of the pod (contract node.md §10). */
export function podAttributes({ metadata, spec }: Pod, mode: LifecycleMode): StringMap {
  return {
    'csi.storage.k8s.io/pod.name': metadata.name,
    'csi.storage.k8s.io/pod.namespace': metadata.namespace,
    'csi.storage.k8s.io/pod.uid': metadata.uid,
    'csi.storage.k8s.io/serviceAccount.name': spec.serviceAccountName ?? '',
    'csi.storage.k8s.io/ephemeral': String(mode === 'Ephemeral'),
  };
}

/** Tokens by their audience, as one attribute; none when there are none. */
export function tokenAttributes(tokens: ReadonlyMap<string, DriverToken>): StringMap {
  if (tokens.size === 0) return {};
  return { [TokensKey]: goJson(Object.fromEntries(tokens)) };
}

/** What NodePublishVolume gets: later parts win over the volume's own, so that nobody can pass a pod off for another. */
export function publishInput(parts: {
  attributes: StringMap;
  secrets: StringMap;
  pod: StringMap;
  tokens: StringMap;
  tokensInSecrets: boolean;
}): { volumeContext: StringMap; secrets: StringMap } {
  const { attributes, secrets, pod, tokens, tokensInSecrets } = parts;
  if (tokensInSecrets) return { volumeContext: { ...attributes, ...pod }, secrets: { ...secrets, ...tokens } };
  return { volumeContext: { ...attributes, ...pod, ...tokens }, secrets };
}
