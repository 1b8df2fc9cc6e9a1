import type * as t from '../../src/cri/types.ts';
import { podOf, RuntimeBase, unknown } from './runtime-base.ts';
import { matchesSandbox, sandboxOf, sandboxStatusOf } from './views.ts';

/** Chance that a sandbox whose making was broken off by the runtime's death is found, half made, after its restart. */
const halfMadeChance = 0.6;

/** The calls about sandboxes. */
export class SandboxCalls extends RuntimeBase {
  runPodSandbox(config: t.PodSandboxConfig, runtimeHandler: string, opts?: t.CallOptions): Promise<string> {
    const m = config.metadata;
    const op = 'RunPodSandbox';
    const id = this.machine.newId();
    return this.wire.call(op, { podUid: m.uid, sandboxId: id, attempt: m.attempt }, opts, async (ctx) => {
      if (!this.handlers.includes(runtimeHandler))
        throw unknown(op, `failed to get sandbox runtime: no runtime for "${runtimeHandler}" is configured`);
      const name = [m.name, m.namespace, m.uid, m.attempt].join('_');
      const holder = this.machine.reserve(name, id);
      if (holder !== undefined) throw unknown(op, `failed to reserve sandbox name "${name}": name "${name}" is reserved for "${holder}"`);
      try {
        await ctx.spend(0.5);
        if (!this.networkReady && config.linux?.securityContext?.namespaceOptions?.network !== 'NODE') {
          throw unknown(op, `failed to setup network for sandbox "${id}": cni plugin not initialized`);
        }
        await ctx.spend(0.5);
        this.machine.addSandbox(id, config, runtimeHandler, name, true);
        return id;
      } catch (err) {
        if (ctx.crashed()) {
          if (this.random.chance(halfMadeChance)) this.machine.addSandbox(id, config, runtimeHandler, name, false);
        } else {
          await this.cleanUp();
          this.machine.release(name, id);
        }
        throw err;
      }
    });
  }

  stopPodSandbox(id: string, opts?: t.CallOptions): Promise<void> {
    const op = 'StopPodSandbox';
    const known = this.machine.sandboxes.get(id);
    return this.wire.call(op, { sandboxId: id, ...podOf(known) }, opts, async (ctx) => {
      const s = this.sandbox(op, id);
      s.stopAsked = true;
      for (const c of this.machine.containersOf(s)) this.machine.kill(c);
      try {
        await ctx.spend(0.6);
      } catch (err) {
        // Broken off before anything happened to it.
        s.stopAsked = false;
        throw err;
      }
      this.machine.endSandbox(s, 'stopped');
      await ctx.spend(0.4);
    });
  }

  removePodSandbox(id: string, opts?: t.CallOptions): Promise<void> {
    const known = this.machine.sandboxes.get(id);
    return this.wire.call('RemovePodSandbox', { sandboxId: id, ...podOf(known) }, opts, async (ctx) => {
      const s = this.machine.sandboxes.get(id);
      if (!s) return;
      if (s.state === 'ready') this.violation(`RemovePodSandbox of ready sandbox ${id.slice(0, 8)} of pod ${s.config.metadata.uid}`);
      s.stopAsked = true;
      await ctx.spend(1);
      this.machine.dropSandbox(s);
    });
  }

  podSandboxStatus(id: string, opts?: t.CallOptions): Promise<t.PodSandboxStatus> {
    const op = 'PodSandboxStatus';
    return this.wire.simple(op, { sandboxId: id, ...podOf(this.machine.sandboxes.get(id)) }, opts, () =>
      sandboxStatusOf(this.sandbox(op, id)),
    );
  }

  listPodSandbox(filter?: t.PodSandboxFilter, opts?: t.CallOptions): Promise<t.PodSandbox[]> {
    const podUid = filter?.labelSelector?.['io.kubernetes.pod.uid'];
    return this.wire.simple('ListPodSandbox', podUid === undefined ? {} : { podUid }, opts, () =>
      [...this.machine.sandboxes.values()].map(sandboxOf).filter((s) => matchesSandbox(s, filter)),
    );
  }
}
