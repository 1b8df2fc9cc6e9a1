import type { FieldFault } from './field-fault.ts';

/**
 * A value of the object under validation with its path: rules walk down with `get` and `each` and report where they
 * stand. Absent values read as Go's zero values.
 */
export class Field {
  readonly path: string;
  readonly value: unknown;
  readonly #faults: FieldFault[];

  constructor(value: unknown, path: string, faults: FieldFault[]) {
    this.value = value;
    this.path = path;
    this.#faults = faults;
  }

  get(key: string): Field {
    const holder = this.value;
    const value =
      typeof holder === 'object' && holder !== null && Object.hasOwn(holder, key) ? (holder as Record<string, unknown>)[key] : undefined;
    return new Field(value, this.path === '' ? key : `${this.path}.${key}`, this.#faults);
  }

  /** The items of a list, none where it is absent. */
  each(): Field[] {
    return Array.isArray(this.value) ? this.value.map((item, i) => new Field(item, `${this.path}[${i}]`, this.#faults)) : [];
  }

  /** The entries of a map, with Kubernetes' path of a map's entry: `labels[key]`. */
  entries(): [string, Field][] {
    const map = typeof this.value === 'object' && this.value !== null ? this.value : {};
    return Object.entries(map).map(([key, value]) => [key, new Field(value, `${this.path}[${key}]`, this.#faults)]);
  }

  /** This field under another path, where Kubernetes names another one. */
  at(path: string): Field {
    return new Field(this.value, path, this.#faults);
  }

  /** Another value under this path. */
  with(value: unknown): Field {
    return new Field(value, this.path, this.#faults);
  }

  get isSet(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  get text(): string {
    return typeof this.value === 'string' ? this.value : '';
  }

  get number(): number {
    return typeof this.value === 'number' || typeof this.value === 'bigint' ? Number(this.value) : 0;
  }

  get isTrue(): boolean {
    return this.value === true;
  }

  get count(): number {
    if (Array.isArray(this.value)) return this.value.length;
    return typeof this.value === 'object' && this.value !== null ? Object.keys(this.value).length : 0;
  }

  /** Faults of the whole object so far. */
  get faultCount(): number {
    return this.#faults.length;
  }

  report(problem: string, remedy?: string): void {
    this.#faults.push({ field: this.path, problem, ...(remedy === undefined ? {} : { remedy }) });
  }

  /** Reports each problem of `problems` with the value. */
  reportAll(problems: readonly string[]): void {
    for (const problem of problems) this.report(`${this.shown} ${problem}`);
  }

  /** The value, short enough for a message. */
  get shown(): string {
    const text = typeof this.value === 'bigint' ? this.value.toString() : (JSON.stringify(this.value) ?? 'nothing');
    return text.length > 120 ? `${text.slice(0, 117)}...` : text;
  }

  /** Reports a missing text or list; true when there is one. */
  require(why = 'is missing'): boolean {
    const isThere = typeof this.value === 'string' ? this.value !== '' : Array.isArray(this.value) ? this.value.length > 0 : this.isSet;
    if (!isThere) this.report(why);
    return isThere;
  }

  /** Reports a text that is not one of `allowed`. */
  oneOf(allowed: readonly string[]): boolean {
    if (allowed.includes(this.text)) return true;
    this.report(
      this.text === '' ? 'is missing' : `${this.shown} is not supported`,
      `one of ${allowed.filter((name) => name !== '').join(', ')}`,
    );
    return false;
  }

  /** Reports a number outside of `min` to `max`. */
  range(min: number, max: number): void {
    if (this.number < min || this.number > max) this.report(`${this.shown} is not from ${min} to ${max}`);
  }

  notNegative(): void {
    if (this.number < 0) this.report(`${this.shown} is negative`);
  }
}
