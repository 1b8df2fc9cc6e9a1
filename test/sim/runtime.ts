import { CriError } from '../../src/cri/errors.ts';
import type { CriRuntime } from '../../src/cri/ports.ts';
import type * as t from '../../src/cri/types.ts';
import { ContainerCalls } from './container-calls.ts';
import { EventTap } from './event-tap.ts';
import { SimImages } from './images.ts';
import type { SimRuntimeOptions } from './runtime-base.ts';
import type { Transport } from './transport.ts';

/**
 * A container runtime in memory which behaves as containerd's CRI plugin does: names are unique, a stopped sandbox
 * stops its containers, removals are idempotent, a call that is cancelled cleans up in its own time. `machine` is
 * what exists, `journal` what was asked, `faults` what is to go wrong.
 */
export class SimRuntime extends ContainerCalls implements CriRuntime {
  /** Its ImageService. */
  readonly images: SimImages;
  #events: EventTap | undefined;

  constructor(options: SimRuntimeOptions) {
    super(options);
    this.images = new SimImages(this.clock, this.wire, this.registry);
    if (options.events) this.#events = new EventTap(this.machine);
  }

  get faults(): Transport['faults'] {
    return this.wire.faults;
  }

  /** Ends the runtime's process as SIGKILL does: containers run on. */
  crash(): void {
    this.wire.stop();
    this.#events?.breakAll(new CriError('Unavailable', 'GetContainerEvents', 'error reading from server: EOF'));
  }

  /** Starts it again. Reservations of names whose object was never made are forgotten. */
  start(): void {
    for (const [name, id] of this.machine.names) {
      if (!this.machine.sandboxes.has(id) && !this.machine.containers.has(id)) this.machine.names.delete(name);
    }
    for (const c of this.machine.containers.values()) c.busy = undefined;
    this.wire.start();
  }

  /** `crash` and, `downMs` later, `start`. */
  restart(downMs: number): void {
    this.crash();
    this.clock.after(downMs, () => this.start());
  }

  version(opts?: t.CallOptions): Promise<t.RuntimeVersion> {
    return this.wire.simple('Version', {}, opts, () => ({
      version: '0.1.0',
      runtimeName: 'containerd',
      runtimeVersion: 'v1.6.20',
      runtimeApiVersion: 'v1',
    }));
  }

  status(opts?: t.CallOptions): Promise<t.RuntimeStatus> {
    return this.wire.simple('Status', {}, opts, () => ({
      conditions: [
        { type: 'RuntimeReady', status: true, reason: '', message: '' },
        this.networkReady
          ? { type: 'NetworkReady', status: true, reason: '', message: '' }
          : {
              type: 'NetworkReady',
              status: false,
              reason: 'NetworkPluginNotReady',
              message: 'Network plugin returns error: cni plugin not initialized',
            },
      ],
      runtimeHandlers: this.runtimeHandlers,
    }));
  }

  runtimeConfig(opts?: t.CallOptions): Promise<'systemd' | 'cgroupfs' | undefined> {
    return this.wire.simple('RuntimeConfig', {}, opts, () => {
      throw new CriError('Unimplemented', 'RuntimeConfig', 'unknown method RuntimeConfig for service runtime.v1.RuntimeService');
    });
  }

  updateRuntimeConfig(_podCidr: string, opts?: t.CallOptions): Promise<void> {
    return this.wire.simple('UpdateRuntimeConfig', {}, opts, () => undefined);
  }

  async *containerEvents(signal: AbortSignal): AsyncIterable<t.ContainerEvent> {
    await this.wire.simple('GetContainerEvents', {}, { signal }, () => {
      if (!this.#events) throw new CriError('Unimplemented', 'GetContainerEvents', 'method GetContainerEvents not implemented');
    });
    if (this.#events) yield* this.#events.stream(signal, () => this.machine.nowNs());
  }
}
