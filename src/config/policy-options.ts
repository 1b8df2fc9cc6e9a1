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

const True = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const False = ['0', 'f', 'F', 'FALSE', 'false', 'False'];

/** A yes or no in the spellings that Go's strconv.ParseBool takes. Throws PolicyOptionError. */
export function booleanOption(field: string, name: string, text: string): boolean {
  if (True.includes(text)) return true;
  if (False.includes(text)) return false;
  throw new PolicyOptionError(`${field}[${name}]`, `${JSON.stringify(text)} is neither true nor false`);
}
