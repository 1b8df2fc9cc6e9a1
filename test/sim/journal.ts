import type { CriErrorCode } from '../../src/cri/errors.ts';

/** Every call of the two CRI services that a SimRuntime answers, by the RPC's own name. */
export const operations = [
  'Version',
  'Status',
  'RuntimeConfig',
  'UpdateRuntimeConfig',
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'PodSandboxStatus',
  'ListPodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'ListContainers',
  'ContainerStatus',
  'UpdateContainerResources',
  'ReopenContainerLog',
  'ExecSync',
  'GetContainerEvents',
  'ListImages',
  'ImageStatus',
  'PullImage',
  'RemoveImage',
  'ImageFsInfo',
] as const;
export type Operation = (typeof operations)[number];

/** The calls that change a pod. */
export const mutating: ReadonlySet<Operation> = new Set<Operation>([
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'StartContainer',
  'StopContainer',
  'RemoveContainer',
  'UpdateContainerResources',
]);

/** What a call is about, as far as it is known when the call arrives. */
export interface CallTarget {
  podUid?: string;
  sandboxId?: string;
  containerId?: string;
  /** `metadata.name` of the container. */
  container?: string;
  /** `metadata.attempt` of the sandbox or container. */
  attempt?: number;
  image?: string;
  /** The container or sandbox named by its id was not running when the call was sent. */
  dead?: boolean;
  /** StopContainer's grace in seconds. */
  timeoutSeconds?: number;
}

/** One call as its client saw it. Times are `Clock.monotonic` milliseconds. */
export interface Call extends CallTarget {
  n: number;
  op: Operation;
  start: number;
  /** Undefined while the call is under way. */
  end?: number;
  /** `ok`, or the error's code. */
  outcome?: 'ok' | CriErrorCode;
  message?: string;
}

/** Something that happened to a container's process or to a sandbox without being a call. */
export interface Happening {
  at: number;
  kind:
    | 'container-created'
    | 'container-starting'
    | 'container-started'
    | 'container-exited'
    | 'container-removed'
    | 'sandbox-ready'
    | 'sandbox-notready'
    | 'sandbox-removed'
    | 'signal';
  podUid: string;
  sandboxId: string;
  containerId?: string;
  container?: string;
  attempt?: number;
  detail?: string;
}

/** The record of a simulated runtime: what to assert on. */
export class Journal {
  readonly calls: Call[] = [];
  readonly happenings: Happening[] = [];
  /** Broken promises that the runtime itself saw, in words. Empty in a good run. */
  readonly violations: string[] = [];
  /** Calls under way, for the check of calls side by side. */
  #open = new Set<Call>();
  #listeners: ((call: Call) => void)[] = [];

  /** Calls `listener` when a call is sent, from now on. */
  onCall(listener: (call: Call) => void): void {
    this.#listeners.push(listener);
  }

  begin(op: Operation, start: number, target: CallTarget): Call {
    const call: Call = { n: this.calls.length, op, start, ...target };
    this.calls.push(call);
    for (const listener of this.#listeners) listener(call);
    if (mutating.has(op) || isLook(call)) {
      for (const other of this.#open) {
        if (clash(call, other)) {
          this.violations.push(
            `${describe(call)} was sent at ${start.toFixed(1)} while ${describe(other)} (sent at ${other.start.toFixed(1)}) was under way`,
          );
        }
      }
      this.#open.add(call);
    }
    return call;
  }

  end(call: Call, end: number, outcome: 'ok' | CriErrorCode, message?: string): void {
    call.end = end;
    call.outcome = outcome;
    if (message !== undefined) call.message = message;
    this.#open.delete(call);
    // A look of which one half failed is over for its caller, although the other half may still be under way.
    if (outcome !== 'ok' && isLook(call))
      for (const other of this.#open) if (isLook(other) && other.podUid === call.podUid) this.#open.delete(other);
  }

  /** Forgets calls under way: their client died. */
  drop(end: number): void {
    for (const call of this.#open) this.end(call, end, 'Canceled', 'client died');
  }

  of(op: Operation, podUid?: string): Call[] {
    return this.calls.filter((call) => call.op === op && (podUid === undefined || call.podUid === podUid));
  }

  /** Calls of any kind that began in [from, to). */
  between(from: number, to: number): Call[] {
    return this.calls.filter((call) => call.start >= from && call.start < to);
  }

  /** The last lines of the story of one pod, oldest first: for messages of failing tests. */
  story(podUid: string | undefined, limit = 60): string {
    const lines: [number, number, string][] = [];
    for (const c of this.calls) {
      if (podUid !== undefined && c.podUid !== podUid) continue;
      if (podUid !== undefined && !mutating.has(c.op) && c.op !== 'PullImage') continue;
      lines.push([
        c.start,
        0,
        `${describe(c)} -> ${c.outcome ?? 'under way'}${c.end === undefined ? '' : ` after ${(c.end - c.start).toFixed(0)} ms`}${c.message ? `: ${c.message}` : ''}`,
      ]);
    }
    for (const h of this.happenings) {
      if (podUid === undefined || h.podUid === podUid) {
        lines.push([
          h.at,
          1,
          `* ${h.kind} ${h.container ?? ''}${h.attempt === undefined ? '' : `#${h.attempt}`} ${(h.containerId ?? h.sandboxId).slice(0, 8)} ${h.detail ?? ''}`,
        ]);
      }
    }
    lines.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return lines
      .slice(-limit)
      .map(([at, , text]) => `${at.toFixed(1).padStart(10)} ${text}`)
      .join('\n');
  }
}

/** One of the two lists with which an agent begins to look at one pod. */
function isLook(call: Call): boolean {
  return (call.op === 'ListPodSandbox' || call.op === 'ListContainers') && call.podUid !== undefined;
}

export function describe(call: Call): string {
  const parts: string[] = [call.op];
  if (call.podUid !== undefined) parts.push(`pod=${call.podUid.slice(0, 12)}`);
  if (call.container !== undefined) parts.push(`${call.container}#${call.attempt ?? '?'}`);
  else if (call.attempt !== undefined) parts.push(`#${call.attempt}`);
  const id = call.containerId ?? call.sandboxId;
  if (id !== undefined) parts.push(id.slice(0, 8));
  if (call.timeoutSeconds !== undefined) parts.push(`timeout=${call.timeoutSeconds}`);
  if (call.image !== undefined) parts.push(call.image);
  return parts.join(' ');
}

/**
 * True when the contract forbids the two calls side by side. Allowed for one pod: starts of different containers,
 * stops of different containers, and clearing what is dead beside anything that does not touch it. Two looks at one pod
 * (lists filtered by its UID) would mean that two syncs of it run at once.
 */
export function clash(a: Call, b: Call): boolean {
  if (a.podUid === undefined || a.podUid !== b.podUid) return false;
  if (!mutating.has(a.op) || !mutating.has(b.op)) return a.op === b.op;
  // The collector of garbage works beside the lanes, on what is dead only.
  if (a.dead && b.dead) return false;
  if (a.containerId !== undefined && a.containerId === b.containerId) return true;
  return clashes(a, b) || clashes(b, a);
}

function clashes(a: Call, b: Call): boolean {
  switch (a.op) {
    case 'RunPodSandbox':
      return b.op !== 'RemoveContainer' && b.op !== 'RemovePodSandbox';
    case 'StopPodSandbox':
    case 'RemovePodSandbox':
      if (b.op === 'RemovePodSandbox' || b.op === 'StopPodSandbox') return a.sandboxId === b.sandboxId;
      return b.op !== 'RunPodSandbox' && b.op !== 'RemoveContainer' && a.sandboxId === b.sandboxId;
    case 'CreateContainer':
      return (b.op === 'CreateContainer' || b.op === 'StartContainer') && a.container === b.container;
    default:
      return false;
  }
}
