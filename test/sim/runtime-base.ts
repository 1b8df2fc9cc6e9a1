import { CriError } from '../../src/cri/errors.ts';
import type { RuntimeHandler } from '../../src/cri/types.ts';
import type { Clock } from '../../src/host/clock.ts';
import { type CallTarget, Journal, type Operation } from './journal.ts';
import { type Latency, usualLatency } from './latency.ts';
import { type ContainerRecord, type SandboxRecord, SimMachine } from './machine.ts';
import { SimRandom } from './random.ts';
import { SimRegistry } from './registry.ts';
import { Transport } from './transport.ts';

export interface SimRuntimeOptions {
  clock: Clock;
  random?: SimRandom;
  latency?: Partial<Latency>;
  registry?: SimRegistry;
  /** Serves GetContainerEvents; Unimplemented without it, as containerd 1.6. */
  events?: boolean;
  /** Runtime handlers beside the default one (``). */
  handlers?: string[];
}

/** What the calls of a simulated runtime share: the machine, the wire, the journal. */
export class RuntimeBase {
  readonly journal = new Journal();
  readonly machine: SimMachine;
  readonly registry: SimRegistry;
  readonly wire: Transport;
  /** Condition NetworkReady of Status; without it no pod network can be made. */
  networkReady = true;
  /** What it says of its handlers: nothing, as an old runtime. */
  runtimeHandlers: RuntimeHandler[] = [];
  protected readonly clock: Clock;
  protected readonly random: SimRandom;
  protected readonly handlers: string[];

  constructor(options: SimRuntimeOptions) {
    this.clock = options.clock;
    this.random = (options.random ?? new SimRandom(1)).fork('runtime');
    this.machine = new SimMachine(this.clock, this.random.fork('machine'), this.journal);
    this.registry = options.registry ?? new SimRegistry();
    this.wire = new Transport(this.clock, this.random.fork('wire'), this.journal, { ...usualLatency, ...options.latency });
    this.handlers = ['', ...(options.handlers ?? [])];
  }

  /** containerd cleans up after a failure in its own time; the name stays reserved meanwhile. */
  protected cleanUp(): Promise<void> {
    return this.clock.sleep(this.random.between(2, 40));
  }

  protected sandbox(op: Operation, id: string): SandboxRecord {
    const s = this.machine.sandboxes.get(id);
    if (!s) throw notFound(op, `an error occurred when try to find sandbox "${id}": not found`);
    return s;
  }

  protected container(op: Operation, id: string): ContainerRecord {
    const c = this.machine.containers.get(id);
    if (!c) throw notFound(op, `an error occurred when try to find container "${id}": not found`);
    return c;
  }

  protected about(id: string): CallTarget {
    const c = this.machine.containers.get(id);
    if (!c) return { containerId: id };
    return {
      containerId: id,
      sandboxId: c.sandbox.id,
      ...podOf(c.sandbox),
      container: c.config.metadata.name,
      attempt: c.config.metadata.attempt,
      dead: c.state === 'exited',
    };
  }

  protected violation(text: string): void {
    this.journal.violations.push(`${text} at ${this.clock.monotonic().toFixed(1)}`);
  }
}

export function podOf(s: SandboxRecord | undefined): { podUid?: string; dead?: boolean } {
  return s ? { podUid: s.config.metadata.uid, dead: s.state === 'notready' } : {};
}

export function unknown(op: Operation, message: string): CriError {
  return new CriError('Unknown', op, message);
}

export function notFound(op: Operation, message: string): CriError {
  return new CriError('NotFound', op, message);
}
