export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never';

/**
 * The policy that the API server fills in: Always for the tag `latest`, given or implied, else IfNotPresent.
 * `imageWithTag` carries its default tag already (contract: pod-lifecycle.md §6).
 */
export function defaultPullPolicy(imageWithTag: string): PullPolicy {
  return !imageWithTag.includes('@') && imageWithTag.endsWith(':latest') ? 'Always' : 'IfNotPresent';
}
