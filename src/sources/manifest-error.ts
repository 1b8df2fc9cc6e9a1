export type ManifestErrorCode =
  | 'unreadable'
  | 'not-a-file'
  | 'too-large'
  | 'too-slow'
  | 'syntax'
  | 'duplicate-key'
  | 'alias'
  | 'nesting'
  | 'wrong-kind'
  | 'wrong-type'
  | 'invalid'
  | 'forbidden'
  | 'duplicate-pod'
  | 'http';

/** What is wrong with a manifest, as plain data: it also travels between threads. */
export interface ManifestFault {
  code: ManifestErrorCode;
  /** Path of the file, or the URL. */
  file: string;
  /** From 1; undefined where the fault has no place in the text. */
  line?: number | undefined;
  column?: number | undefined;
  /** As Kubernetes prints it, e.g. `spec.containers[0].name`. */
  field?: string | undefined;
  /** What is wrong, in a few words, without file, place, field and remedy. */
  problem: string;
  remedy?: string | undefined;
}

/** A manifest that cannot be used. The message reads `file:line:column: field: what is wrong (remedy)`. */
export class ManifestError extends Error implements ManifestFault {
  readonly code: ManifestErrorCode;
  readonly file: string;
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly field: string | undefined;
  readonly problem: string;
  readonly remedy: string | undefined;

  constructor(fault: ManifestFault) {
    super(describe(fault));
    this.name = 'ManifestError';
    this.code = fault.code;
    this.file = fault.file;
    this.line = fault.line;
    this.column = fault.column;
    this.field = fault.field;
    this.problem = fault.problem;
    this.remedy = fault.remedy;
  }
}

function describe({ file, line, column, field, problem, remedy }: ManifestFault): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return `${place}: ${field ? `${field}: ` : ''}${problem}${remedy ? ` (${remedy})` : ''}`;
}
