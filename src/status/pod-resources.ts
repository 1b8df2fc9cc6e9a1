import { Quantity } from '../api/quantity.ts';
import { podLimits, podRequests, quantityOf, toResourceList } from '../api/resources.ts';
import type { Pod, PodStatus, ResourceList, ResourceRequirements } from '../api/types.ts';
import { MIN_SHARES, milliCpuToShares, quotaToMilliCpu, sharesEqualAfterV2RoundTrip, sharesToMilliCpu } from '../resources/cpu.ts';
import type { PodCgroupValues } from '../resources/pod-cgroup-values.ts';

/** Below it the kernel's floor says nothing of what was asked, in thousandths of a CPU. */
const MIN_MILLI_LIMIT = 10;

/**
 * `status.allocatedResources` and `status.resources` of a pod that has its allocated resources. While it runs, CPU and the
 * memory limit are those of its control group; what is not known of it stays as in the earlier status. Source: KEP-5419.
 */
export function podLevelStatus(
  pod: Pod,
  previous: PodStatus,
  cgroup: PodCgroupValues | undefined,
): Pick<PodStatus, 'allocatedResources' | 'resources'> {
  const requests = toResourceList(podRequests(pod));
  const runs = pod.status?.phase === 'Running' || previous.phase === 'Running';
  const resources = runs ? inForce(pod, requests, previous.resources, cgroup) : { requests, limits: toResourceList(podLimits(pod)) };
  return { ...(isEmpty(requests) ? {} : { allocatedResources: requests }), resources: withoutEmpty(resources) };
}

function inForce(
  pod: Pod,
  aggregate: ResourceList,
  before: ResourceRequirements | undefined,
  cgroup: PodCgroupValues | undefined,
): Required<Pick<ResourceRequirements, 'requests' | 'limits'>> {
  const requests: ResourceList = { ...pod.spec.resources?.requests };
  const limits: ResourceList = { ...pod.spec.resources?.limits };
  const keep = (list: ResourceList, old: ResourceList | undefined, name: string) => {
    const value = old?.[name];
    if (value !== undefined) list[name] = value;
  };
  if (cgroup === undefined) keep(requests, before?.requests, 'cpu');
  else setCpuRequest(requests, cgroup.cpuShares);
  const { memory } = aggregate;
  if (requests['memory'] === undefined && memory !== undefined) requests['memory'] = memory;
  const milliLimit = cgroup === undefined ? 0 : quotaToMilliCpu(cgroup.cpuQuota, cgroup.cpuPeriod);
  if (milliLimit <= 0) keep(limits, before?.limits, 'cpu');
  else if (milliLimit > MIN_MILLI_LIMIT || quantityOf(limits, 'cpu').milliValue() > MIN_MILLI_LIMIT)
    put(limits, 'cpu', Quantity.ofMilli(milliLimit));
  if (cgroup === undefined || cgroup.memory < 0) keep(limits, before?.limits, 'memory');
  else put(limits, 'memory', Quantity.of(cgroup.memory, 'BinarySI'));
  return { requests, limits };
}

/** A v2 weight is coarser than what it stands for: one that the allocation gives is taken for the allocation. */
function setCpuRequest(requests: ResourceList, shares: number): void {
  const milli = sharesToMilliCpu(shares);
  const allocated = Number(quantityOf(requests, 'cpu').milliValue());
  if (milli <= MIN_SHARES && allocated <= MIN_SHARES) return;
  if (!sharesEqualAfterV2RoundTrip(milliCpuToShares(allocated), shares)) put(requests, 'cpu', Quantity.ofMilli(milli));
}

/** The same amount keeps the text that the user wrote. */
function put(list: ResourceList, name: string, actual: Quantity): void {
  if (!Object.hasOwn(list, name) || !quantityOf(list, name).equals(actual)) list[name] = actual.toString();
}

const isEmpty = (list: ResourceList) => Object.keys(list).length === 0;

function withoutEmpty({ requests, limits }: Required<Pick<ResourceRequirements, 'requests' | 'limits'>>): ResourceRequirements {
  return { ...(isEmpty(limits) ? {} : { limits }), ...(isEmpty(requests) ? {} : { requests }) };
}
