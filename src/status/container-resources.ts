import { Quantity } from '../api/quantity.ts';
import { quantityOf } from '../api/resources.ts';
import type { Container, ContainerStatus, ResourceList, ResourceRequirements } from '../api/types.ts';
import type { LinuxContainerResources } from '../cri/types.ts';
import type { ObservedContainer } from '../pleg/types.ts';

/** The kernel's floors, in CPU shares and thousandths of a CPU: below them what is set says nothing of what was asked. */
const minShares = 2n;
const minMilliLimit = 10n;

/** What is set aside for a container: its requests. */
export function allocatedRequests(container: Container): ResourceList | undefined {
  return container.resources?.requests;
}

/**
 * The resources in force: what was asked for, with CPU and memory of a running container as the runtime reports them;
 * what it does not report is taken from `actuated`, the agent's own record, or stays as in the earlier status of the same
 * container.
 */
export function reportedResources(
  container: Container,
  record: ObservedContainer,
  containerID: string,
  old: ContainerStatus | undefined,
  actuated?: ResourceRequirements,
): ResourceRequirements {
  const asked = container.resources ?? {};
  if (record.state !== 'running') return asked;
  const kept = old?.state?.running && old.containerID === containerID ? old.resources : undefined;
  const actual = withRecord(inForce(record.status.resources), record.status.resources !== undefined, actuated);
  const result: ResourceRequirements = { ...asked };
  if (asked.limits) {
    result.limits = { ...asked.limits };
    settle(result.limits, 'cpu', aboveFloor(actual.cpuLimit, asked.limits['cpu'], minMilliLimit), kept?.limits);
    settle(result.limits, 'memory', actual.memoryLimit, kept?.limits);
  }
  if (asked.requests) {
    result.requests = { ...asked.requests };
    settle(result.requests, 'cpu', aboveFloor(actual.cpuRequest, asked.requests['cpu'], minShares), kept?.requests);
    settle(result.requests, 'memory', actual.memoryRequest, kept?.requests);
  }
  return result;
}

/** `'as asked'` leaves the entry; undefined means that the runtime did not say. */
function settle(list: ResourceList, name: string, actual: Quantity | 'as asked' | undefined, kept: ResourceList | undefined): void {
  if (actual === 'as asked') return;
  if (actual === undefined) {
    const before = kept?.[name];
    if (before !== undefined) list[name] = before;
    return;
  }
  const asked = quantity(list[name]);
  // The same amount keeps the text that the user wrote.
  if (!asked?.equals(actual)) list[name] = actual.toString();
}

function aboveFloor(actual: Quantity | undefined, asked: string | undefined, floor: bigint): Quantity | 'as asked' | undefined {
  if (!actual) return undefined;
  return actual.milliValue() > floor || (quantity(asked)?.milliValue() ?? 0n) > floor ? actual : 'as asked';
}

function quantity(text: string | undefined): Quantity | undefined {
  if (text === undefined) return undefined;
  try {
    return Quantity.parse(text);
  } catch {
    return undefined;
  }
}

interface InForce {
  cpuLimit?: Quantity;
  cpuRequest?: Quantity;
  memoryLimit?: Quantity;
  memoryRequest?: Quantity;
}

/** A memory request has no trace in the kernel, and old runtimes report nothing at all. */
function withRecord(reported: InForce, reports: boolean, actuated: ResourceRequirements | undefined): InForce {
  if (actuated === undefined) return reported;
  const memoryRequest = quantityOf(actuated.requests, 'memory');
  if (reports) return memoryRequest.isZero() ? reported : { ...reported, memoryRequest };
  return {
    cpuRequest: quantityOf(actuated.requests, 'cpu'),
    cpuLimit: quantityOf(actuated.limits, 'cpu'),
    memoryRequest,
    memoryLimit: quantityOf(actuated.limits, 'memory'),
  };
}

/** Cgroup values back into the quantities they stand for; undefined where the value says "no limit" or nothing. */
function inForce(r: LinuxContainerResources | undefined): InForce {
  const found: InForce = {};
  const { cpuPeriod = 0, cpuQuota = 0, cpuShares = 0, memoryLimitInBytes = 0 } = r ?? {};
  const milliLimit = cpuPeriod > 0 && cpuQuota > 0 ? Math.floor((cpuQuota * 1000) / cpuPeriod) : 0;
  if (milliLimit > 0) found.cpuLimit = Quantity.ofMilli(milliLimit);
  if (cpuShares >= Number(minShares)) found.cpuRequest = Quantity.ofMilli(Math.ceil((cpuShares * 1000) / 1024));
  if (memoryLimitInBytes > 0) found.memoryLimit = Quantity.of(memoryLimitInBytes, 'BinarySI');
  return found;
}
