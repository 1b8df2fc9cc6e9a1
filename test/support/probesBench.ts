import { podUid } from '../../src/api/brands.ts';
import type { Container, ContainerStatus, Pod, PodSpec, PodStatus, Probe } from '../../src/api/types.ts';
import { silentLogger } from '../../src/observe/log.ts';
import type { ProbeLabels } from '../../src/probes/metrics.ts';
import type { ProbeOutcome } from '../../src/probes/outcome.ts';
import { Probes } from '../../src/probes/probes.ts';
import { Schedule } from '../../src/probes/schedule.ts';
import type { ProbeTarget } from '../../src/probes/types.ts';
import { SimClock } from '../sim/clock.ts';
export const uid = podUid('u');
export const ok: ProbeOutcome = { result: 'success', output: '' };
export const bad: ProbeOutcome = { result: 'failure', output: 'no' };

/** Probes on virtual time, of which the answers and the pod's status are set by the test. */
export class Bench {
  readonly clock = new SimClock();
  /** Seconds at which each try began, by type. */
  readonly tries: { type: string; at: number; id: string }[] = [];
  readonly events: string[] = [];
  readonly changes: string[] = [];
  readonly counted: [ProbeLabels, boolean, number][] = [];
  readonly removed: ProbeLabels[] = [];
  status: PodStatus | undefined;
  answer: (target: ProbeTarget, signal: AbortSignal) => Promise<ProbeOutcome> = async () => ok;
  random = 0;
  probes = this.restart();

  /** Another agent on the same node. */
  restart(): Probes {
    const { clock } = this;
    this.probes = new Probes({
      clock,
      random: { float: () => this.random, hex: () => '' },
      schedule: new Schedule(clock),
      log: silentLogger,
      events: { event: (o, type, reason, message) => void this.events.push(`${type} ${reason} ${o.fieldPath}: ${message}`) },
      metrics: { probed: (...args) => void this.counted.push(args), removed: (labels) => void this.removed.push(labels) },
      runner: {
        run: (target, signal) => {
          this.tries.push({ type: target.type, at: clock.monotonic() / 1000, id: target.containerId });
          return this.answer(target, signal);
        },
      },
      status: () => this.status,
      changed: (c) => {
        this.changes.push(`${c.type} ${c.containerId} ${c.result}${c.isInitial ? ' (initial)' : ''}`);
        const s = [...(this.status?.containerStatuses ?? []), ...(this.status?.initContainerStatuses ?? [])].find(
          (x) => x.containerID === c.statusId,
        );
        if (s !== undefined && c.type === 'startup') s.started = c.result === 'Success';
        if (s !== undefined && c.type === 'readiness') s.ready = c.result === 'Success';
      },
    });
    return this.probes;
  }

  iso(): string {
    return new Date(this.clock.now()).toISOString();
  }

  run(id: string, over: Partial<ContainerStatus> = {}): void {
    this.status = { phase: 'Running', podIP: '10.0.0.1', containerStatuses: [this.container(id, over)] };
  }

  container(id: string, over: Partial<ContainerStatus> = {}): ContainerStatus {
    const state = { running: { startedAt: this.iso() } };
    return {
      name: 'c',
      containerID: `containerd://${id}`,
      started: true,
      ready: false,
      restartCount: 0,
      image: '',
      imageID: '',
      state,
      ...over,
    };
  }

  at(type: string): number[] {
    return this.tries.filter((t) => t.type === type).map((t) => t.at);
  }

  seconds(s: number): Promise<void> {
    return this.clock.advance(s * 1000);
  }
}

export const probe = (over: Probe = {}): Probe => ({
  tcpSocket: { port: 80 },
  periodSeconds: 10,
  timeoutSeconds: 1,
  failureThreshold: 3,
  successThreshold: 1,
  ...over,
});
export const podOf = (container: Partial<Container>, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { restartPolicy: 'Always', containers: [{ name: 'c', ...container }], ...spec },
});
