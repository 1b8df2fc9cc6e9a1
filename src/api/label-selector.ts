import { labelValueFaults, qualifiedNameFaults } from './names.ts';
import type { StringMap } from './types.ts';

/** Label selectors in their text form and as requirements. Source: vectors node-labels, tolerations-affinity. */

export type SelectorOperator = 'in' | 'notin' | '=' | '==' | '!=' | '>' | '<' | 'exists' | '!';

export interface Requirement {
  key: string;
  operator: SelectorOperator;
  values: readonly string[];
}

export interface RequirementFault {
  /** Below the requirement: `key`, `values`, `values[0]`, `operator`. */
  field: string;
  rule: string;
}

export class SelectorError extends Error {
  readonly code = 'invalid-selector';
  constructor(text: string, reason: string) {
    super(`invalid selector ${JSON.stringify(text.slice(0, 200))}: ${reason}`);
    this.name = 'SelectorError';
  }
}

const MAX_INT64 = 2n ** 63n - 1n;

/** A decimal integer of 64 bits, with or without sign. */
function integer(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]{1,400}$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ''));
  return value > MAX_INT64 || value < -MAX_INT64 - 1n ? undefined : value;
}

function countFault({ operator, values }: Requirement): string | undefined {
  switch (operator) {
    case 'in':
    case 'notin':
      return values.length === 0 ? 'in and notin need values' : undefined;
    case 'exists':
    case '!':
      return values.length > 0 ? 'a test for existence takes no values' : undefined;
    default:
      return values.length === 1 ? undefined : `${operator} needs exactly one value`;
  }
}

/** What is wrong with a requirement. */
export function requirementFaults(requirement: Requirement): RequirementFault[] {
  const { key, operator, values } = requirement;
  const faults: RequirementFault[] = [];
  const keyFaults = qualifiedNameFaults(key);
  if (keyFaults.length > 0) faults.push({ field: 'key', rule: keyFaults.join('; ') });
  const count = countFault(requirement);
  if (count !== undefined) faults.push({ field: 'values', rule: count });
  for (const [i, value] of values.entries()) {
    const isComparison = operator === '>' || operator === '<';
    if (isComparison && integer(value) === undefined) faults.push({ field: `values[${i}]`, rule: 'must be an integer' });
    const valueFaults = labelValueFaults(value);
    if (valueFaults.length > 0) faults.push({ field: `values[${i}][${key}]`, rule: valueFaults.join('; ') });
  }
  return faults;
}

function compares(operator: '>' | '<', label: string, value: string | undefined): boolean {
  const [a, b] = [integer(label), value === undefined ? undefined : integer(value)];
  if (a === undefined || b === undefined) return false;
  return operator === '>' ? a > b : a < b;
}

export function matchesRequirement({ key, operator, values }: Requirement, labels: StringMap): boolean {
  const label = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'exists':
      return label !== undefined;
    case '!':
      return label === undefined;
    case 'notin':
    case '!=':
      return label === undefined || !values.includes(label);
    case '>':
    case '<':
      return label !== undefined && values.length === 1 && compares(operator, label, values[0]);
    default:
      return label !== undefined && values.includes(label);
  }
}

function requirementText({ key, operator, values }: Requirement): string {
  const list = values.toSorted().join(',');
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${list})`;
    default:
      return `${key}${operator}${list}`;
  }
}

export class LabelSelector {
  readonly requirements: readonly Requirement[];

  private constructor(requirements: readonly Requirement[]) {
    this.requirements = requirements.toSorted((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  }

  /** Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`. The empty text selects all. Throws SelectorError. */
  static parse(text: string): LabelSelector {
    return new LabelSelector(new Parser(text).requirements());
  }

  matches(labels: StringMap): boolean {
    return this.requirements.every((requirement) => matchesRequirement(requirement, labels));
  }

  /** The canonical text: by key, values in order. */
  toString(): string {
    return this.requirements.map(requirementText).join(',');
  }
}

const BINARY = new Set<string>(['in', 'notin', '=', '==', '!=', '>', '<'] satisfies SelectorOperator[]);
const isBinary = (token: string): token is SelectorOperator => BINARY.has(token);
const SYMBOL = /^(?:!=|==|[=!(),<>])$/;
const TOKEN = /!=|==|[=!(),<>]|[^=!(),<>\t\r\n ]+/g;

/** `in` and `notin` are operators after a key, and words anywhere else. */
class Parser {
  readonly #text: string;
  readonly #tokens: string[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = text.match(TOKEN) ?? [];
  }

  requirements(): Requirement[] {
    const found: Requirement[] = [];
    if (this.#tokens.length === 0) return found;
    do found.push(this.#requirement());
    while (this.#take(','));
    if (this.#peek() !== undefined) throw this.#unexpected('a comma or the end');
    return found;
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at += 1;
    return true;
  }

  #unexpected(wanted: string): SelectorError {
    return new SelectorError(this.#text, `want ${wanted}, found ${this.#peek() === undefined ? 'the end' : JSON.stringify(this.#peek())}`);
  }

  #isWordNext(): boolean {
    const token = this.#peek();
    return token !== undefined && !SYMBOL.test(token);
  }

  #word(wanted: string): string {
    const token = this.#peek();
    if (token === undefined || SYMBOL.test(token)) throw this.#unexpected(wanted);
    this.#at += 1;
    return token;
  }

  #requirement(): Requirement {
    const negated = this.#take('!');
    const key = this.#word('a label key');
    if (negated) return this.#checked({ key, operator: '!', values: [] });
    const token = this.#peek();
    if (token === undefined || token === ',') return this.#checked({ key, operator: 'exists', values: [] });
    if (!isBinary(token)) throw this.#unexpected('an operator (in, notin, =, ==, !=, >, <)');
    this.#at += 1;
    const values = token === 'in' || token === 'notin' ? this.#list() : [this.#value()];
    return this.#checked({ key, operator: token, values: [...new Set(values)].toSorted() });
  }

  /** A value; nothing before a comma or the end is the empty one. */
  #value(): string {
    const token = this.#peek();
    return token === undefined || token === ',' ? '' : this.#word('a value');
  }

  /** Values in parentheses; nothing between two commas is the empty one. */
  #list(): string[] {
    if (!this.#take('(')) throw this.#unexpected('a parenthesis');
    const values: string[] = [];
    do values.push(this.#isWordNext() ? this.#word('a value') : '');
    while (this.#take(','));
    if (!this.#take(')')) throw this.#unexpected('a comma or a closing parenthesis');
    return values;
  }

  #checked(requirement: Requirement): Requirement {
    const [fault] = requirementFaults(requirement);
    if (fault !== undefined) throw new SelectorError(this.#text, `${requirement.key}: ${fault.field} ${fault.rule}`);
    return requirement;
  }
}
