import { goBool } from './flag-values.ts';

/** An option of a resource manager's policy that cannot be used. */
export class PolicyOptionError extends Error {
  readonly code = 'bad-policy-option';
  /** The configuration field. */
  readonly field: string;
  readonly rule: string;
  constructor(field: string, rule: string) {
    super(`${field}: ${rule}`);
    this.name = 'PolicyOptionError';
    this.field = field;
    this.rule = rule;
  }
}

/** A yes or no. Throws PolicyOptionError. */
export function booleanOption(field: string, name: string, text: string): boolean {
  const value = goBool(text);
  if (value === undefined) throw new PolicyOptionError(`${field}[${name}]`, `${JSON.stringify(text)} is neither true nor false`);
  return value;
}
