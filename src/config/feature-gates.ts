import { gateDependencies, gateSpecs } from './feature-gate-table.ts';
import { nearest } from './nearest.ts';

export interface GateFault {
  gate: string;
  value: boolean;
  rule: string;
  remedy?: string;
}

/** The gates in force. */
export class FeatureGates {
  readonly #set: ReadonlyMap<string, boolean>;

  constructor(set: ReadonlyMap<string, boolean> = new Map()) {
    this.#set = set;
  }

  /** False for a gate that does not exist. */
  enabled(gate: string): boolean {
    return this.#set.get(gate) ?? gateSpecs.get(gate)?.default ?? false;
  }

  /** Gates whose value is not the default. */
  changed(): Map<string, boolean> {
    return new Map([...this.#set].filter(([gate, on]) => gateSpecs.get(gate)?.default !== on));
  }
}

export const defaultGates = new FeatureGates();

const groups = new Map([
  ['AllAlpha', 'Alpha'],
  ['AllBeta', 'Beta'],
]);

export interface EvaluatedGates {
  gates: FeatureGates;
  faults: GateFault[];
  /** Gates that are set and will go away. */
  fading: { gate: string; stage: 'GA' | 'Deprecated' }[];
}

/**
 * Applies a map of gates: `AllAlpha` and `AllBeta` set all that are not named themselves, a locked gate keeps its
 * value, and an enabled gate needs those that it depends on. With faults the gates are the defaults.
 */
export function evaluateGates(wanted: Readonly<Record<string, boolean>>): EvaluatedGates {
  const faults: GateFault[] = [];
  const fading: EvaluatedGates['fading'] = [];
  const set = new Map<string, boolean>();
  for (const [gate, value] of Object.entries(wanted)) {
    if (groups.has(gate)) continue;
    const spec = gateSpecs.get(gate);
    if (spec === undefined) {
      const near = nearest(gate, gateSpecs.keys());
      faults.push({ gate, value, rule: 'is not a feature gate', ...(near === undefined ? {} : { remedy: `did you mean ${near}?` }) });
    } else if (spec.locked && spec.default !== value) {
      faults.push({ gate, value, rule: `cannot be set to ${value}: it is locked to ${spec.default}`, remedy: 'remove it' });
    } else {
      set.set(gate, value);
      if (spec.stage === 'GA' || spec.stage === 'Deprecated') fading.push({ gate, stage: spec.stage });
    }
  }
  for (const [group, stage] of groups) {
    const value = wanted[group];
    if (value === undefined) continue;
    for (const [gate, spec] of gateSpecs) if (spec.stage === stage && !set.has(gate)) set.set(gate, value);
  }
  const gates = new FeatureGates(set);
  if (faults.length === 0) {
    for (const [gate, needs] of gateDependencies) {
      if (!gates.enabled(gate)) continue;
      const off = needs.filter((need) => !gates.enabled(need));
      if (off.length === 0) continue;
      const remedy = `set ${gate}=false or ${off.map((g) => `${g}=true`).join(', ')}`;
      faults.push({
        gate,
        value: true,
        rule: `is on, but depends on ${off.join(', ')}, which ${off.length === 1 ? 'is' : 'are'} off`,
        remedy,
      });
    }
  }
  return { gates: faults.length === 0 ? gates : defaultGates, faults, fading };
}
