import type * as t from '../../src/cri/types.ts';
import { behaviourOf } from './behaviour.ts';
import type { ContainerRecord } from './machine.ts';
import { notFound, podOf, unknown } from './runtime-base.ts';
import { SandboxCalls } from './sandbox-calls.ts';
import type { ServerContext } from './transport.ts';
import { containerOf, containerStatusOf, matchesContainer } from './views.ts';

/** The calls about containers. */
export class ContainerCalls extends SandboxCalls {
  createContainer(
    podSandboxId: string,
    config: t.ContainerConfig,
    _sandboxConfig: t.PodSandboxConfig,
    opts?: t.CallOptions,
  ): Promise<string> {
    const op = 'CreateContainer';
    const m = config.metadata;
    const id = this.machine.newId();
    const known = this.machine.sandboxes.get(podSandboxId);
    return this.wire.call(
      op,
      { sandboxId: podSandboxId, ...podOf(known), containerId: id, container: m.name, attempt: m.attempt, dead: false },
      opts,
      async (ctx) => {
        const s = this.machine.sandboxes.get(podSandboxId);
        if (!s) throw notFound(op, `failed to find sandbox id "${podSandboxId}": not found`);
        if (s.stopAsked)
          this.violation(
            `CreateContainer ${m.name} in sandbox ${s.id.slice(0, 8)} of pod ${s.config.metadata.uid} which the agent has stopped`,
          );
        if (s.state !== 'ready')
          throw notFound(op, `failed to get sandbox container task: no running task found: task ${s.id} not found: not found`);
        const pod = s.config.metadata;
        const name = [m.name, pod.name, pod.namespace, pod.uid, m.attempt].join('_');
        const holder = this.machine.reserve(name, id);
        if (holder !== undefined)
          throw unknown(op, `failed to reserve container name "${name}": name "${name}" is reserved for "${holder}"`);
        try {
          const image = this.registry.find(config.image);
          if (!image) throw notFound(op, `failed to resolve image "${config.image.image}": not found`);
          await ctx.spend(0.8);
          const createError = behaviourOf([...config.command, ...config.args]).createError;
          if (createError !== undefined) throw unknown(op, createError);
          this.machine.addContainer(id, s, config, name, {
            id: image.id,
            ref: image.repoDigests[0] ?? image.id,
            name: image.repoTags[0] ?? image.id,
          });
          await ctx.spend(0.2);
          return id;
        } catch (err) {
          // The death of the runtime leaves whatever was there by then.
          if (!ctx.crashed()) {
            await this.cleanUp();
            const made = this.machine.containers.get(id);
            if (made) this.machine.dropContainer(made);
            else this.machine.release(name, id);
          }
          throw err;
        }
      },
    );
  }

  startContainer(id: string, opts?: t.CallOptions): Promise<void> {
    const op = 'StartContainer';
    return this.wire.call(op, this.about(id), opts, async (ctx) => {
      const c = this.container(op, id);
      const s = c.sandbox;
      if (c.state !== 'created')
        throw unknown(op, `failed to set starting state for container "${id}": container is in CONTAINER_${c.state.toUpperCase()} state`);
      if (c.busy) throw unknown(op, `failed to set starting state for container "${id}": container is already in ${c.busy} state`);
      if (s.stopAsked)
        this.violation(
          `StartContainer ${c.config.metadata.name} in sandbox ${s.id.slice(0, 8)} of pod ${s.config.metadata.uid} which the agent has stopped`,
        );
      c.busy = 'starting';
      try {
        await ctx.spend(0.9);
        this.machine.starting(c);
        if (s.state !== 'ready') {
          this.machine.failStart(c, `sandbox container "${s.id}" is not running`);
          throw unknown(op, `sandbox container "${s.id}" is not running`);
        }
        if (c.behaviour.startError !== undefined) {
          this.machine.failStart(c, c.behaviour.startError);
          throw unknown(
            op,
            `failed to create containerd task: failed to create shim task: OCI runtime create failed: ${c.behaviour.startError}: unknown`,
          );
        }
        this.machine.begin(c);
        c.busy = undefined;
        await ctx.spend(0.1);
      } catch (err) {
        // A start that is broken off before the process runs leaves the container exited; the death of the runtime leaves it created.
        if (c.state === 'created' && !ctx.crashed()) this.machine.failStart(c, err instanceof Error ? err.message : String(err));
        throw err;
      } finally {
        c.busy = undefined;
      }
    });
  }

  stopContainer(id: string, timeoutSeconds: number, opts?: t.CallOptions): Promise<void> {
    const op = 'StopContainer';
    return this.wire.call(op, { ...this.about(id), timeoutSeconds }, opts, async (ctx) => {
      const c = this.container(op, id);
      if (timeoutSeconds < 2)
        this.violation(
          `StopContainer ${c.config.metadata.name} with a timeout of ${timeoutSeconds} s: at least 2 is asked by the contract`,
        );
      await ctx.spend(1);
      if (c.state !== 'running') return;
      if (timeoutSeconds > 0) {
        if (!c.termSent) {
          c.termSent = true;
          this.machine.terminate(c);
        }
        await this.#waitEnd(c, timeoutSeconds * 1000, ctx);
      }
      this.machine.kill(c);
    });
  }

  removeContainer(id: string, opts?: t.CallOptions): Promise<void> {
    const op = 'RemoveContainer';
    return this.wire.call(op, this.about(id), opts, async (ctx) => {
      const c = this.machine.containers.get(id);
      if (!c) return;
      if (c.busy)
        throw unknown(op, `failed to set removing state for container "${id}": container is in ${c.busy} state, can't be removed`);
      if (c.state === 'running')
        this.violation(`RemoveContainer of running container ${c.config.metadata.name} of pod ${c.sandbox.config.metadata.uid}`);
      c.busy = 'removing';
      try {
        await ctx.spend(1);
        this.machine.dropContainer(c);
      } finally {
        c.busy = undefined;
      }
    });
  }

  listContainers(filter?: t.ContainerFilter, opts?: t.CallOptions): Promise<t.Container[]> {
    const podUid = filter?.labelSelector?.['io.kubernetes.pod.uid'];
    return this.wire.simple('ListContainers', podUid === undefined ? {} : { podUid }, opts, () =>
      [...this.machine.containers.values()].map(containerOf).filter((c) => matchesContainer(c, filter)),
    );
  }

  containerStatus(id: string, opts?: t.CallOptions): Promise<t.ContainerStatus> {
    return this.wire.simple('ContainerStatus', this.about(id), opts, () => containerStatusOf(this.container('ContainerStatus', id)));
  }

  updateContainerResources(id: string, resources: t.LinuxContainerResources, opts?: t.CallOptions): Promise<void> {
    const op = 'UpdateContainerResources';
    return this.wire.call(op, this.about(id), opts, async (ctx) => {
      const c = this.container(op, id);
      if (c.state !== 'running' && c.state !== 'created')
        throw unknown(op, `failed to update resources: container is in CONTAINER_${c.state.toUpperCase()} state`);
      await ctx.spend(1);
      c.resources = { ...c.resources, ...resources };
    });
  }

  reopenContainerLog(id: string, opts?: t.CallOptions): Promise<void> {
    return this.wire.simple('ReopenContainerLog', this.about(id), opts, () => {
      if (this.container('ReopenContainerLog', id).state !== 'running') throw unknown('ReopenContainerLog', 'container is not running');
    });
  }

  execSync(id: string, _cmd: string[], timeoutSeconds: number, opts?: t.CallOptions): Promise<t.ExecSyncResult> {
    const op = 'ExecSync';
    return this.wire.call(op, { ...this.about(id), timeoutSeconds }, opts, async (ctx) => {
      const c = this.container(op, id);
      if (c.state !== 'running') throw unknown(op, `container is in CONTAINER_${c.state.toUpperCase()} state`);
      await ctx.spend(1);
      return { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), exitCode: 0 };
    });
  }

  /** Resolves when the process has ended or `ms` passed; rejects when the call is cancelled. */
  async #waitEnd(c: ContainerRecord, ms: number, ctx: ServerContext): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([ctx.signal, over.signal]);
    void this.machine.ended(c).then(() => over.abort());
    try {
      await this.clock.sleep(ms, signal);
    } catch (err) {
      if (ctx.signal.aborted) throw err;
    }
  }
}
