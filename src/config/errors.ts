/** Where in a file something stands; both count from 1. */
export interface Position {
  line: number;
  column: number;
}

export type ConfigErrorCode =
  /** The file cannot be read. */
  | 'unreadable'
  /** The text is no YAML or JSON, or breaks a limit. */
  | 'syntax'
  /** apiVersion or kind is missing or another one. */
  | 'kind'
  /** A value has the wrong type. */
  | 'type'
  /** A value has the right type and is refused by a rule. */
  | 'invalid'
  /** A feature gate that does not exist, is locked, or misses one that it needs. */
  | 'gate'
  /** A command-line flag that does not exist or whose value cannot be read. */
  | 'flag'
  /** Only under `--strict`: a field that does not exist, or a key that stands twice. */
  | 'strict';

export interface ConfigFault extends Partial<Position> {
  code: ConfigErrorCode;
  /** The file that holds the value; absent when it came from a flag or a default. */
  file?: string;
  /** Field path as in `registerWithTaints[0].effect` or `evictionHard[memory.available]`; empty for the file as a whole. */
  field: string;
  /** The refused value, shown shortened; absent when there is none. Never a secret. */
  value?: unknown;
  /** The rule that is broken, as a sentence without a full stop. */
  rule: string;
  /** What to do about it. */
  remedy?: string;
  /** The flag that set the value, without dashes. */
  flag?: string;
}

const SHOWN_VALUE = 80;

function showValue(value: unknown): string {
  if (value === undefined) return '';
  const text = typeof value === 'string' ? JSON.stringify(value) : JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? Number(v) : v));
  return text.length > SHOWN_VALUE ? `${text.slice(0, SHOWN_VALUE)}…` : text;
}

/** `file:line:column: field: value: rule (remedy)`, leaving out what is not known. */
export function formatFault(fault: ConfigFault): string {
  const place: string[] = [];
  if (fault.file !== undefined) {
    place.push(fault.line === undefined ? fault.file : `${fault.file}:${fault.line}:${fault.column ?? 1}`);
  } else if (fault.flag !== undefined) {
    place.push(`--${fault.flag}`);
  }
  if (fault.field !== '') place.push(fault.field);
  const value = showValue(fault.value);
  if (value !== '') place.push(value);
  place.push(fault.rule + (fault.remedy === undefined ? '' : ` (${fault.remedy})`));
  return place.join(': ');
}

/** The faults file by file (as first met; what has no file comes first), each file's from top to bottom. */
export function inOrder(faults: readonly ConfigFault[]): ConfigFault[] {
  const files = [undefined, ...new Set(faults.map((f) => f.file).filter((file) => file !== undefined))];
  return files.flatMap((file) =>
    faults.filter((f) => f.file === file).sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)),
  );
}

/** One refused thing in a configuration or on the command line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly fault: ConfigFault;

  constructor(fault: ConfigFault, cause?: unknown) {
    super(formatFault(fault), cause === undefined ? undefined : { cause });
    this.fault = fault;
  }

  get code(): ConfigErrorCode {
    return this.fault.code;
  }
  get file(): string | undefined {
    return this.fault.file;
  }
  get line(): number | undefined {
    return this.fault.line;
  }
  get column(): number | undefined {
    return this.fault.column;
  }
  get field(): string {
    return this.fault.field;
  }
}

/** Everything that is wrong, together. Its message has one line for each. */
export class ConfigErrors extends AggregateError {
  override readonly name = 'ConfigErrors';
  override readonly errors: ConfigError[];

  constructor(faults: readonly ConfigFault[]) {
    const errors = faults.map((f) => new ConfigError(f));
    super(errors, errors.map((e) => e.message).join('\n'));
    this.errors = errors;
  }
}

/** Something the user should know that stops nothing. */
export interface ConfigWarning extends Partial<Position> {
  file?: string;
  field?: string;
  flag?: string;
  message: string;
}

export function formatWarning(w: ConfigWarning): string {
  const place = w.file === undefined ? [] : [w.line === undefined ? w.file : `${w.file}:${w.line}:${w.column ?? 1}`];
  return [...place, w.message].join(': ');
}
