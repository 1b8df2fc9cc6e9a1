import { isPodLevelResourcesSet } from '../api/resources.ts';
import { couldRestartAllContainers } from '../api/restart.ts';
import type { Pod } from '../api/types.ts';
import type { AdmissionCheck } from './chain.ts';

/** Refuses pods with resources of their own (beside their containers') where the gate PodLevelResources is off. */
export function podLevelResourcesCheck(isEnabled: boolean): AdmissionCheck {
  return {
    name: 'pod-level-resources',
    admit: (pod) =>
      isEnabled || !isPodLevelResourcesSet(pod)
        ? undefined
        : {
            reason: 'PodLevelResourcesNotSupported',
            message: 'Pod-level resources are not supported on this node: feature gate PodLevelResources is disabled',
          },
  };
}

/** What a pod needs of a node that not every node declares. Source: the public nodedeclaredfeatures list of v1.37. */
const Needs: readonly (readonly [feature: string, isNeeded: (pod: Pod) => boolean])[] = [
  ['RestartAllContainersOnContainerExits', (pod) => couldRestartAllContainers(pod.spec)],
  ['UserNamespacesHostNetworkSupport', ({ spec }) => spec.hostUsers === false && spec.hostNetwork === true],
];

/** Refuses pods that need a feature which this node does not declare; `declared` undefined: it declares none at all. */
export function declaredFeaturesCheck(declared: () => readonly string[] | undefined): AdmissionCheck {
  return {
    name: 'declared-features',
    admit: (pod) => {
      const known = declared();
      if (known === undefined) return undefined;
      const missing = Needs.filter(([feature, isNeeded]) => !known.includes(feature) && isNeeded(pod)).map(([feature]) => feature);
      return missing.length === 0
        ? undefined
        : { reason: 'PodFeatureUnsupported', message: `Pod requires node features that are not available: ${missing.join(', ')}` };
    },
  };
}
