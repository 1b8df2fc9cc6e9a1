import type { Pod } from '../../src/api/types.ts';
import { rootDir } from './agent.ts';
import { ownEnd } from './behaviour.ts';
import { type Call, type Happening, mutating } from './journal.ts';
import type { ContainerRecord } from './machine.ts';
import type { World } from './world.ts';

interface Version {
  at: number;
  /** Undefined: nobody asks for it from then on. */
  pod: Pod | undefined;
}

const podsDir = `${rootDir}/pods/`;
/** Seconds that StopContainer gets at least. */
const leastStop = 2;
/** So many calls that change one pod, in one minute, are a storm whatever fails. */
const stormPerMinute = 120;
/** A change of the source reaches a lane within this time; milliseconds. */
const deliveryMs = 50;

/**
 * Watches a world while it runs and notes every broken promise that can be seen from outside, call by call: it knows
 * what was asked for and when, and what the runtime did, and nothing of the agent's insides.
 */
export class Oracle {
  readonly violations: string[] = [];
  /** Pods whose end was not only their own doing: their outcome cannot be worked out from the spec alone. */
  readonly disturbed = new Set<string>();
  /** Pods of which someone removed containers: their restart counts may begin again. */
  readonly lost = new Set<string>();
  /** Set while the disk is at fault: restart counts may suffer then. */
  diskFault = false;
  readonly #world: World;
  readonly #history = new Map<string, Version[]>();
  #boots: number[] = [];
  /** `sandbox/init container` that exited 0. */
  readonly #initDone = new Set<string>();
  /** Sandboxes in which a regular container was started. */
  readonly #begun = new Set<string>();
  /** Highest attempt by `uid/container` of this life of the pod. */
  readonly #attempts = new Map<string, { attempt: number; id: string; started: boolean }>();
  readonly #termedAt = new Map<string, number>();
  /** Least seconds that StopContainer was given, by container. */
  readonly #asked = new Map<string, number>();
  /** Times of the last minute's calls that changed a pod. */
  readonly #changes = new Map<string, number[]>();

  constructor(world: World) {
    this.#world = world;
    world.runtime.journal.onCall((call) => this.#call(call));
    world.runtime.machine.onHappening((h) => this.#happening(h));
    world.files.onCall((op, path) => {
      const uid = op === 'removeTree' && path.startsWith(podsDir) ? path.slice(podsDir.length).split('/')[0] : undefined;
      if (uid !== undefined && world.isRunning(uid)) this.#broken(`the directory of pod ${uid} is removed while it runs`);
    });
    world.onCgroupRemoved((uid) => {
      if (world.isRunning(uid)) this.#broken(`the cgroup of pod ${uid} is removed while it runs`);
    });
  }

  /** All broken promises, the runtime's own notes included. */
  all(): string[] {
    return [...this.violations, ...this.#world.runtime.journal.violations];
  }

  put(pod: Pod): void {
    const uid = pod.metadata.uid;
    if (this.wanted(uid) === undefined) this.#newLife(uid);
    else if (this.wanted(uid) !== pod) this.disturbed.add(uid);
    this.#note(uid, pod);
    this.#world.source.put(pod);
  }

  remove(uid: string): void {
    this.#note(uid, undefined);
    this.#world.source.remove(uid);
  }

  booted(): void {
    this.#boots.push(this.#now());
  }

  /** The pod as it is asked for now. */
  wanted(uid: string): Pod | undefined {
    return this.#history.get(uid)?.at(-1)?.pod;
  }

  everWanted(): string[] {
    return [...this.#history.keys()];
  }

  #note(uid: string, pod: Pod | undefined): void {
    const versions = this.#history.get(uid) ?? [];
    versions.push({ at: this.#now(), pod });
    this.#history.set(uid, versions);
  }

  #newLife(uid: string): void {
    for (const key of this.#attempts.keys()) if (key.startsWith(`${uid}/`)) this.#attempts.delete(key);
    if (this.#history.has(uid)) this.disturbed.add(uid);
  }

  #call(call: Call): void {
    const uid = call.podUid;
    if (uid === undefined) return;
    if (mutating.has(call.op)) this.#countChange(uid);
    if (call.op === 'RunPodSandbox' || call.op === 'CreateContainer' || call.op === 'StartContainer') {
      const last = this.#history.get(uid)?.at(-1);
      const gone = last?.pod === undefined || last.pod.metadata.deletionTimestamp !== undefined;
      if (gone && this.#now() - (last?.at ?? 0) > deliveryMs)
        this.#broken(`${call.op} ${call.container ?? ''} for pod ${uid}, which nobody asks for`);
    }
    const c = call.containerId === undefined ? undefined : this.#world.runtime.machine.containers.get(call.containerId);
    if (c === undefined) return;
    if (call.op === 'StartContainer') this.#start(c);
    if (call.op === 'StopContainer') this.#stop(c, call.timeoutSeconds ?? 0);
  }

  #countChange(uid: string): void {
    const now = this.#now();
    const recent = (this.#changes.get(uid) ?? []).filter((at) => at > now - 60_000);
    recent.push(now);
    this.#changes.set(uid, recent);
    if (recent.length > stormPerMinute) this.#broken(`${recent.length} calls in a minute that change pod ${uid}`);
  }

  /** Init containers come one after another and before all others. */
  #start(c: ContainerRecord): void {
    const pod = this.wanted(uidOf(c));
    if (pod === undefined) return;
    const init = pod.spec.initContainers ?? [];
    const at = init.findIndex((i) => i.name === nameOf(c));
    const before = at < 0 ? init : init.slice(0, at);
    if (!this.#begun.has(c.sandbox.id)) {
      for (const i of before) {
        if (i.restartPolicy !== 'Always' && !this.#initDone.has(`${c.sandbox.id}/${i.name}`)) {
          this.#broken(`container ${nameOf(c)} of pod ${uidOf(c)} is started before init container ${i.name} succeeded`);
        }
      }
    }
    if (at < 0) this.#begun.add(c.sandbox.id);
  }

  #stop(c: ContainerRecord, timeoutSeconds: number): void {
    const uid = uidOf(c);
    this.#asked.set(c.id, Math.min(timeoutSeconds, this.#asked.get(c.id) ?? Number.POSITIVE_INFINITY));
    const [least, most] = this.#graces(uid, c);
    if (timeoutSeconds < least || timeoutSeconds > most) {
      this.#broken(`StopContainer ${nameOf(c)} of pod ${uid} with ${timeoutSeconds} s, its grace is ${least} to ${most} s`);
    }
    const versions = this.#history.get(uid) ?? [];
    const last = versions.at(-1);
    if (last?.pod === undefined || last.pod.metadata.deletionTimestamp !== undefined || c.state !== 'running') return;
    const createdAt = this.#createdAt(c);
    const spec = last.pod.spec.containers.find((r) => r.name === nameOf(c));
    if (createdAt < last.at || spec === undefined || spec.image !== c.config.image.userSpecifiedImage) return;
    const sandboxes = [...this.#world.runtime.machine.sandboxes.values()].filter((s) => s.config.metadata.uid === uid);
    if (sandboxes.at(-1) !== c.sandbox || sandboxes.filter((s) => s.state === 'ready').length !== 1 || c.sandbox.state !== 'ready') return;
    this.#broken(`StopContainer ${nameOf(c)} of pod ${uid} without a reason: it is wanted as it is and its sandbox is sound`);
  }

  /** [least, most] seconds that StopContainer may be given. */
  #graces(uid: string, c: ContainerRecord): [number, number] {
    const all: number[] = [];
    const versions = this.#history.get(uid) ?? [];
    for (const { pod } of versions) {
      if (!pod) continue;
      all.push(pod.metadata.deletionGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30);
    }
    // The agent started at a time when nobody asked for the pod: for it, it was an orphan from then on.
    const unasked = versions.flatMap((v, i) =>
      v.pod === undefined ? [[v.at, versions[i + 1]?.at ?? Number.POSITIVE_INFINITY] as const] : [],
    );
    const orphan = versions.length === 0 || unasked.some(([from, to]) => this.#boots.some((at) => at >= from && at <= to));
    if (orphan) all.push(1);
    const sidecar = versions.some(({ pod }) => pod?.spec.initContainers?.some((i) => i.name === nameOf(c) && i.restartPolicy === 'Always'));
    const least = sidecar ? leastStop : Math.max(leastStop, Math.min(...all));
    return [least, Math.max(leastStop, ...all)];
  }

  #happening(h: Happening): void {
    const c = h.containerId === undefined ? undefined : this.#world.runtime.machine.containers.get(h.containerId);
    if (h.kind === 'sandbox-ready') {
      if ((h.attempt ?? 0) > 0) this.disturbed.add(h.podUid);
      // A new sandbox begins with the first init container, and nothing is left of its earlier runs.
      for (const c of this.wanted(h.podUid)?.spec.initContainers ?? []) this.#attempts.delete(`${h.podUid}/${c.name}`);
    }
    if (c === undefined) return;
    switch (h.kind) {
      case 'container-created':
        this.#created(c);
        break;
      case 'container-starting': {
        const known = this.#attempts.get(`${h.podUid}/${nameOf(c)}`);
        if (known?.id === c.id) known.started = true;
        break;
      }
      case 'container-exited':
        this.#exited(c);
        break;
      case 'signal':
        this.#signal(c, h.detail ?? '');
        break;
      default:
    }
  }

  #created(c: ContainerRecord): void {
    const key = `${uidOf(c)}/${nameOf(c)}`;
    const { attempt } = c.config.metadata;
    const known = this.#attempts.get(key);
    if (known !== undefined) {
      const stillThere = this.#world.runtime.machine.containers.has(known.id);
      const next = known.started || stillThere ? known.attempt + 1 : known.attempt;
      if (attempt < next && !this.diskFault && !this.lost.has(uidOf(c)))
        this.#broken(`container ${nameOf(c)} of pod ${uidOf(c)} has restart count ${attempt} after ${known.attempt}`);
      if (attempt !== known.attempt + 1 || !known.started) this.disturbed.add(uidOf(c));
    } else if (attempt !== 0) this.disturbed.add(uidOf(c));
    this.#attempts.set(key, { attempt, id: c.id, started: false });
  }

  #exited(c: ContainerRecord): void {
    if (c.exitCode === 0 && c.reason !== 'OOMKilled') this.#initDone.add(`${c.sandbox.id}/${nameOf(c)}`);
    const own = ownEnd(c.behaviour, c.config.metadata.attempt);
    const scripted =
      c.reason === 'StartError' ? c.behaviour.startError !== undefined && c.startedAt === 0n : own?.exitCode === c.exitCode && !c.termSent;
    if (!scripted && !this.#isSidecar(c)) this.disturbed.add(uidOf(c));
  }

  #signal(c: ContainerRecord, signal: string): void {
    if (signal === 'SIGTERM') {
      this.#termedAt.set(c.id, this.#now());
      return;
    }
    const termed = this.#termedAt.get(c.id);
    const asked = this.#asked.get(c.id) ?? 0;
    const about = `container ${nameOf(c)} of pod ${uidOf(c)}`;
    if (termed === undefined) this.#broken(`${about} got SIGKILL without SIGTERM`);
    else if (this.#now() - termed < asked * 1000 - 1) {
      this.#broken(`${about} got SIGKILL ${(this.#now() - termed).toFixed(0)} ms after SIGTERM, ${asked} s were asked for it`);
    }
  }

  #isSidecar(c: ContainerRecord): boolean {
    const pod = this.wanted(uidOf(c));
    return pod?.spec.initContainers?.some((i) => i.name === nameOf(c) && i.restartPolicy === 'Always') ?? false;
  }

  #createdAt(c: ContainerRecord): number {
    return this.#world.runtime.journal.happenings.find((h) => h.kind === 'container-created' && h.containerId === c.id)?.at ?? 0;
  }

  #now(): number {
    return this.#world.clock.monotonic();
  }

  #broken(text: string): void {
    this.violations.push(`${text} at ${this.#now().toFixed(1)}`);
  }
}

const uidOf = (c: ContainerRecord) => c.sandbox.config.metadata.uid;
const nameOf = (c: ContainerRecord) => c.config.metadata.name;
