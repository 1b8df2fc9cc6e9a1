import type { CriRuntime } from '../cri/ports.ts';
import { systemClock } from '../host/clock.ts';
import type { KubeletPorts } from '../kubelet.ts';
import { type HookMetrics, Hooks } from '../probes/hooks.ts';
import type { ProbeMetrics } from '../probes/metrics.ts';
import { Probers } from '../probes/runner.ts';
import { Schedule } from '../probes/schedule.ts';
import { expandStaticCommand } from '../sync/env-expansion.ts';

/** Probes and hooks on the machine's own network, runtime and clock. */
export function nodeProbes(runtime: CriRuntime, metrics: HookMetrics, probeMetrics: ProbeMetrics): Pick<KubeletPorts, 'hooks' | 'probes'> {
  const clock = systemClock;
  const schedule = new Schedule(clock);
  const runner = new Probers({ runtime, schedule, expandCommand: (command, env) => expandStaticCommand(command, env) ?? [] });
  return { hooks: new Hooks({ runtime, clock, metrics }), probes: { runner, schedule, metrics: probeMetrics } };
}
