import { posix } from 'node:path';
import { AppArmorAnnotationPrefix } from '../api/annotations.ts';
import type { AppArmorProfile, Container, Pod } from '../api/types.ts';
import type { SecurityProfile } from '../cri/types.ts';
import { ConfigGenerationError } from './config-error.ts';

const LegacyRuntimeDefault = 'runtime/default';
const LegacyUnconfined = 'unconfined';
const LegacyLocalhostPrefix = 'localhost/';

/** Where seccomp profiles lie, and what a container without one gets. */
export interface SeccompSettings {
  seccompDefault: boolean;
  /** `{root directory}/seccomp`. */
  seccompProfileRoot: string;
}

/**
 * The container's seccomp profile: its own, else the pod's, else the node's default. A localhost profile that is empty,
 * absolute or climbs out of the profile directory is an error, never unconfined (CVE-2023-2431).
 */
export function seccompProfile(pod: Pod, container: Container, settings: SeccompSettings): SecurityProfile {
  const profile = container.securityContext?.seccompProfile ?? pod.spec.securityContext?.seccompProfile;
  if (profile === undefined || profile === null) return { profileType: settings.seccompDefault ? 'RuntimeDefault' : 'Unconfined' };
  switch (profile.type) {
    case 'RuntimeDefault':
    case 'Unconfined':
      return { profileType: profile.type };
    case 'Localhost':
      return { profileType: 'Localhost', localhostRef: localhostFile(profile.localhostProfile, settings.seccompProfileRoot, container) };
    default:
      throw new ConfigGenerationError(
        `seccompProfile.type ${JSON.stringify(profile.type)} is none of RuntimeDefault, Unconfined, Localhost`,
        container.name,
      );
  }
}

function localhostFile(name: string | undefined, root: string, container: Container): string {
  const fault =
    name === undefined || name === ''
      ? 'it is empty'
      : name.startsWith('/')
        ? 'it is an absolute path'
        : name.split('/').includes('..')
          ? "it contains '..'"
          : name.includes('\0')
            ? 'it contains a NUL byte'
            : posix.normalize(name) === '.'
              ? 'it names no file'
              : undefined;
  if (name === undefined || fault !== undefined) {
    throw new ConfigGenerationError(
      `seccompProfile.localhostProfile ${JSON.stringify(name ?? '')} is refused: ${fault}; give a file below ${root}`,
      container.name,
    );
  }
  return posix.join(root, name);
}

/** The AppArmor profile in both forms that runtimes know: the message, and the older string. */
export interface AppArmorSettings {
  apparmor?: SecurityProfile;
  apparmorProfile?: string;
}

/** The container's AppArmor profile: its own, else the older pod annotation, else the pod's; none leaves it to the runtime. */
export function apparmorProfile(pod: Pod, container: Container): AppArmorSettings {
  const profile =
    container.securityContext?.appArmorProfile ??
    annotatedProfile(pod.metadata.annotations, container.name) ??
    pod.spec.securityContext?.appArmorProfile;
  if (profile === undefined || profile === null) return {};
  switch (profile.type) {
    case 'RuntimeDefault':
      return { apparmor: { profileType: 'RuntimeDefault' }, apparmorProfile: LegacyRuntimeDefault };
    case 'Unconfined':
      return { apparmor: { profileType: 'Unconfined' }, apparmorProfile: LegacyUnconfined };
    case 'Localhost': {
      const name = profile.localhostProfile;
      if (name === undefined || name.trim() === '' || name.includes('\0')) {
        throw new ConfigGenerationError('appArmorProfile.localhostProfile must name a loaded profile', container.name);
      }
      return { apparmor: { profileType: 'Localhost', localhostRef: name }, apparmorProfile: `${LegacyLocalhostPrefix}${name}` };
    }
    default:
      throw new ConfigGenerationError(
        `appArmorProfile.type ${JSON.stringify(profile.type)} is none of RuntimeDefault, Unconfined, Localhost`,
        container.name,
      );
  }
}

function annotatedProfile(annotations: Record<string, string> | undefined, container: string): AppArmorProfile | undefined {
  const key = `${AppArmorAnnotationPrefix}${container}`;
  const value = annotations !== undefined && Object.hasOwn(annotations, key) ? annotations[key] : undefined;
  if (value === LegacyRuntimeDefault) return { type: 'RuntimeDefault' };
  if (value === LegacyUnconfined) return { type: 'Unconfined' };
  if (value?.startsWith(LegacyLocalhostPrefix) === true) {
    return { type: 'Localhost', localhostProfile: value.slice(LegacyLocalhostPrefix.length) };
  }
  return undefined;
}
