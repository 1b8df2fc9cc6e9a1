import type { FeatureGates } from '../config/feature-gates.ts';
import type { RuntimeStatus } from '../cri/types.ts';

/** Features that a node declares; each has the name of its gate. Source: the public nodedeclaredfeatures list of v1.37. */
const byGate = [
  'DRANodeAllocatableResources',
  'DRAOptionalNodeOperations',
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'InPlacePodVerticalScalingMemoryBackedVolumes',
  'RestartAllContainersOnContainerExits',
];

/** status.declaredFeatures, sorted; undefined where the node declares none by its configuration. Fixed while the agent runs. */
export function declaredFeatures(gates: Pick<FeatureGates, 'enabled'>, runtime: RuntimeStatus['features']): string[] | undefined {
  if (!gates.enabled('NodeDeclaredFeatures')) return undefined;
  const found = byGate.filter((gate) => gates.enabled(gate));
  if (gates.enabled('UserNamespacesHostNetworkSupport') && runtime?.userNamespacesHostNetwork === true)
    found.push('UserNamespacesHostNetworkSupport');
  if (gates.enabled('VolumeBindMountOptions') && runtime?.mountOptions === true) found.push('VolumeBindMountOptions');
  return found.sort();
}
