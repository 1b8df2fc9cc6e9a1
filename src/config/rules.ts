/** A broken rule, without its place. */
export interface RuleFault {
  field: string;
  value?: unknown;
  rule: string;
  remedy?: string;
  /** The field that brought the rule into force: its place is shown where the field itself has none. */
  because?: string;
}

/** Collects broken rules. */
export class Rules {
  readonly faults: RuleFault[] = [];

  /** Records a fault unless `ok`. */
  check(ok: boolean, field: string, value: unknown, rule: string, remedy?: string): void {
    if (ok) return;
    this.faults.push({ field, ...(value === undefined ? {} : { value }), rule, ...(remedy === undefined ? {} : { remedy }) });
  }

  /** A field that must be set because another one is. */
  needed(ok: boolean, field: string, because: string, rule: string): void {
    if (!ok) this.faults.push({ field, rule, because });
  }

  range(field: string, value: number, least: number, most: number, remedy?: string): void {
    this.check(value >= least && value <= most, field, value, `must be between ${least} and ${most}`, remedy);
  }

  choice(field: string, value: string, choices: readonly string[]): void {
    this.check(choices.includes(value), field, value, `must be one of ${choices.map((c) => (c === '' ? '""' : c)).join(', ')}`);
  }

  /** A gate that must be on for a field to be used. */
  gate(on: boolean, field: string, value: unknown, gate: string): void {
    this.check(on, field, value, `needs the feature gate ${gate}`, `set featureGates.${gate} to true, or remove the field`);
  }
}
