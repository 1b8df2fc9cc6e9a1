import type { Pod } from '../api/types.ts';

/** The user that all containers of the pod run as; undefined when one names none, or they differ. Owns token files. */
export function fsUserOf(pod: Pod): number | undefined {
  const { initContainers = [], containers, ephemeralContainers = [], securityContext } = pod.spec;
  const users = [...initContainers, ...containers, ...ephemeralContainers].map(
    (container) => container.securityContext?.runAsUser ?? securityContext?.runAsUser,
  );
  const [first] = users;
  return users.every((user) => user === first) ? first : undefined;
}
