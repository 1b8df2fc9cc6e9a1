import type { Pod } from '../../api/types.ts';
import { textOf, VolumeError } from '../volume-error.ts';
import { type DriverToken, podAttributes, publishInput, tokenAttributes } from './attributes.ts';
import type { CsiObjects, DriverSpec } from './csi-objects.ts';
import type { Access, StringMap } from './node-client.ts';
import type { CsiVolume, SecretRef } from './source.ts';

/** Tokens of the pod's service account, bound to the pod. `audience` '': the API server's own. */
export interface DriverTokens {
  driverToken(pod: Pod, request: { audience: string; expirationSeconds: number | undefined }): Promise<DriverToken>;
}

/** What NodePublishVolume gets of the volume's own attributes, the pod, its tokens and the secret: asked anew at each call. */
export async function publishParts(
  deps: { objects: CsiObjects; tokens: DriverTokens },
  pod: Pod,
  volume: CsiVolume,
  driver: DriverSpec | undefined,
): Promise<{ volumeContext: StringMap; secrets: StringMap }> {
  const [secrets, tokens] = await Promise.all([
    secretOf(deps.objects, volume.publishSecret, 'NodePublishSecretRef'),
    tokensOf(deps.tokens, pod, driver),
  ]);
  return publishInput({
    attributes: volume.attributes,
    secrets,
    pod: driver?.podInfoOnMount === true ? podAttributes(pod, volume.mode) : {},
    tokens: tokenAttributes(tokens),
    tokensInSecrets: driver?.serviceAccountTokenInSecrets === true,
  });
}

/** The secret that the volume names for a call; none when it names none. */
export async function secretOf(objects: Pick<CsiObjects, 'secret'>, ref: SecretRef | undefined, what: string): Promise<StringMap> {
  if (ref === undefined) return {};
  try {
    return await objects.secret(ref);
  } catch (err) {
    throw new VolumeError('not-found', `fetching ${what} ${ref.namespace}/${ref.name} failed: ${textOf(err)}`, err);
  }
}

async function tokensOf(tokens: DriverTokens, pod: Pod, driver: DriverSpec | undefined): Promise<Map<string, DriverToken>> {
  const requests = driver?.tokenRequests ?? [];
  const found = await Promise.all(
    requests.map(async ({ audience, expirationSeconds }): Promise<[string, DriverToken]> => {
      return [audience, await tokens.driverToken(pod, { audience, expirationSeconds })];
    }),
  );
  return new Map(found);
}

/** How the volume is asked for: a driver with VOLUME_MOUNT_GROUP is told the group. */
export function mountAccess({ fsType, mountOptions }: CsiVolume, group: number | undefined): Access {
  return { fsType, mountFlags: mountOptions, group };
}
