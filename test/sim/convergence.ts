import { posix } from 'node:path';
import { podUid } from '../../src/api/brands.ts';
import type { Container, Pod } from '../../src/api/types.ts';
import { podLogsDir, rootDir } from './agent.ts';
import type { ContainerRecord } from './machine.ts';
import type { Oracle } from './oracle.ts';
import { expectationOf } from './pods.ts';
import type { World } from './world.ts';

/** The longest wait between two tries of anything: the greatest back-off, and time to act on it. Milliseconds. */
const longestWaitMs = 300_000 + 20_000;

/** In what a world that nothing disturbs any more is not as it was asked to be; empty: it has converged. */
export function notConverged(world: World, oracle: Oracle): string[] {
  const out: string[] = [];
  const shown = world.podsByUid();
  for (const uid of oracle.everWanted()) {
    const pod = oracle.wanted(uid);
    if (pod === undefined) out.push(...leftovers(world, uid));
    else out.push(...differences(world, oracle, pod, shown.get(uid)));
  }
  for (const uid of shown.keys()) if (oracle.wanted(uid) === undefined) out.push(`pod ${uid} is shown although nobody asks for it`);
  return out;
}

/** What is left of a pod that nobody asks for. */
function leftovers(world: World, uid: string): string[] {
  const out: string[] = [];
  const { machine } = world.runtime;
  for (const s of machine.sandboxes.values())
    if (s.config.metadata.uid === uid) out.push(`pod ${uid} is gone, its sandbox ${s.id.slice(0, 8)} (${s.state}) is not`);
  for (const c of machine.containers.values()) {
    if (c.sandbox.config.metadata.uid === uid) out.push(`pod ${uid} is gone, its container ${c.config.metadata.name} (${c.state}) is not`);
  }
  if (world.files.tree(posix.join(rootDir, 'pods', uid)).length > 0) out.push(`pod ${uid} is gone, its directory is not`);
  if (world.files.tree(podLogsDir).some((path) => path.includes(uid))) out.push(`pod ${uid} is gone, its logs are not`);
  if (world.agent?.kubelet.dispatcher.state(podUid(uid)) !== undefined) out.push(`pod ${uid} is gone, its lane is not`);
  if (world.cgroups.has(uid)) out.push(`pod ${uid} is gone, its cgroup is not`);
  return out;
}

function differences(world: World, oracle: Oracle, pod: Pod, shown: Pod | undefined): string[] {
  const uid = pod.metadata.uid;
  const phase = shown?.status?.phase;
  const about = `pod ${uid} (${pod.spec.restartPolicy}, ${phase})`;
  const { machine } = world.runtime;
  const instances = [...machine.containers.values()].filter((c) => c.sandbox.config.metadata.uid === uid);
  const running = instances.filter((c) => c.state === 'running');
  const ready = [...machine.sandboxes.values()].filter((s) => s.config.metadata.uid === uid && s.state === 'ready');
  if (shown === undefined) return [`pod ${uid} is not shown`];

  const out: string[] = [];
  if (pod.metadata.deletionTimestamp !== undefined || phase === 'Succeeded' || phase === 'Failed') {
    for (const c of running) out.push(`${about} has ended, its container ${c.config.metadata.name} runs`);
    if (ready.length > 0) out.push(`${about} has ended, its sandbox is ready`);
    if (pod.metadata.deletionTimestamp === undefined && pod.spec.restartPolicy === 'Always')
      out.push(`${about} has ended although it is to run for ever`);
  } else if (ready.length === 0 && ((pod.spec.restartPolicy === 'Never' && oracle.disturbed.has(uid)) || oracle.lost.has(uid))) {
    // A run-once pod that lost its sandbox after it began gets no other one (contract: pod-lifecycle.md §5), nor does one
    // whose work is done and of which someone removed a sidecar.
    for (const c of running) out.push(`${about} has no sandbox, its container ${c.config.metadata.name} runs`);
  } else {
    if (ready.length !== 1) out.push(`${about} has ${ready.length} ready sandboxes`);
    out.push(...pod.spec.containers.flatMap((c) => containerTrouble(world, oracle, pod, c, instances)).map((t) => `${about}: ${t}`));
    // After someone removed its containers a pod may have begun again what had ended for good, which is never shown.
    if (!oracle.lost.has(uid)) out.push(...statusTrouble(shown, running).map((t) => `${about}: ${t}`));
  }
  if (!oracle.disturbed.has(uid) && pod.metadata.deletionTimestamp === undefined)
    out.push(...outcomeTrouble(pod, phase ?? '').map((t) => `${about}: ${t}`));
  return out;
}

/** A regular container of a pod that has not ended: it runs, has done its work, or waits for a reason and not too long. */
function containerTrouble(world: World, oracle: Oracle, pod: Pod, c: Container, instances: ContainerRecord[]): string[] {
  const newest = instances.filter((i) => i.config.metadata.name === c.name).at(-1);
  if (newest?.state === 'running') {
    if (newest.config.image.userSpecifiedImage !== c.image) return [`container ${c.name} runs with another image`];
    const milli = Number.parseInt(c.resources?.limits?.['cpu'] ?? '0', 10);
    const has = (newest.resources?.cpuQuota ?? 0) / 100;
    return milli === has ? [] : [`container ${c.name} runs with ${has}m of CPU instead of ${milli}m`];
  }
  const fate = expectationOf(pod);
  if (newest === undefined || newest.state === 'created')
    return fate === 'stuck' || fate === 'loops' || (oracle.disturbed.has(pod.metadata.uid) && hasInit(pod))
      ? []
      : [`container ${c.name} does not exist`];
  const policy = pod.spec.restartPolicy;
  if (policy === 'Never' || (policy === 'OnFailure' && newest.exitCode === 0)) return [];
  const since = world.clock.now() - Number(newest.finishedAt / 1_000_000n);
  return since > longestWaitMs && !(fate === 'loops' && hasInit(pod))
    ? [`container ${c.name} exited ${Math.round(since / 1000)} s ago and was not restarted`]
    : [];
}

const hasInit = (pod: Pod) => (pod.spec.initContainers ?? []).length > 0;

/** What is shown of the containers must be what the runtime has. */
function statusTrouble(shown: Pod, running: ContainerRecord[]): string[] {
  const out: string[] = [];
  const statuses = [...(shown.status?.initContainerStatuses ?? []), ...(shown.status?.containerStatuses ?? [])];
  for (const c of running) {
    const status = statuses.find((s) => s.name === c.config.metadata.name);
    if (status?.state?.running === undefined || status.containerID !== `containerd://${c.id}`)
      out.push(`container ${c.config.metadata.name} runs and is shown as ${JSON.stringify(status?.state)}`);
    else if (status.restartCount < c.config.metadata.attempt)
      out.push(`container ${c.config.metadata.name} shows restart count ${status.restartCount}, it is ${c.config.metadata.attempt}`);
  }
  for (const s of statuses)
    if (s.state?.running && !running.some((c) => c.config.metadata.name === s.name)) out.push(`container ${s.name} is shown as running`);
  return out;
}

function outcomeTrouble(pod: Pod, phase: string): string[] {
  const want = expectationOf(pod);
  const is = (...phases: string[]) => (phases.includes(phase) ? [] : [`must become ${want}`]);
  switch (want) {
    case 'Succeeded':
    case 'Failed':
      return is(want);
    case 'runs':
      return is('Running');
    default:
      return is('Running', 'Pending');
  }
}
