import type { ConfigFault, Position } from './errors.ts';
import type { RuleFault } from './rules.ts';

/** Where a value comes from. */
export type Origin =
  | { kind: 'default' }
  /** The default that applies without --config. */
  | { kind: 'legacy default' }
  | ({ kind: 'file' | 'drop-in'; file: string } & Position)
  | { kind: 'flag'; flag: string };

export function formatOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'default':
    case 'legacy default':
      return origin.kind;
    case 'flag':
      return `flag --${origin.flag}`;
    default:
      return `${origin.kind} ${origin.file}:${origin.line}:${origin.column}`;
  }
}

/** The path one level up: of `a.b[c.d]` it is `a.b`, of `a.b` it is `a`; empty at the top. */
export function parentPath(path: string): string {
  if (path.endsWith(']')) return path.slice(0, Math.max(path.lastIndexOf('['), 0));
  return path.slice(0, Math.max(path.lastIndexOf('.'), 0));
}

/** The origin of every value, by field path. Later sources replace earlier ones. */
export class Origins {
  /** The file that left out what has no place. */
  mainFile: string | undefined;
  readonly #byPath = new Map<string, Origin>();

  set(path: string, origin: Origin): void {
    this.#byPath.set(path, origin);
  }

  /** Forgets what lies below a path: a list or map that was replaced whole. */
  clearBelow(path: string): void {
    for (const known of this.#byPath.keys()) {
      if (known.startsWith(path) && /^[.[]/.test(known.slice(path.length))) this.#byPath.delete(known);
    }
  }

  delete(path: string): void {
    this.clearBelow(path);
    this.#byPath.delete(path);
  }

  /** The origin of the value itself, or of the nearest thing around it. */
  of(path: string): Origin {
    for (let at = path; at !== ''; at = parentPath(at)) {
      const origin = this.#byPath.get(at);
      if (origin !== undefined) return origin;
    }
    return { kind: 'default' };
  }

  /** Gives a broken rule its place: the value's, or that of what brought the rule into force, or the file's start. */
  locate({ because, ...fault }: RuleFault, code: ConfigFault['code']): ConfigFault {
    let origin = this.of(fault.field);
    if (isDefault(origin) && because !== undefined) origin = this.of(because);
    if (origin.kind === 'flag') return { code, ...fault, flag: origin.flag };
    if (origin.kind === 'file' || origin.kind === 'drop-in') {
      return { code, ...fault, file: origin.file, line: origin.line, column: origin.column };
    }
    return this.mainFile === undefined ? { code, ...fault } : { code, ...fault, file: this.mainFile, line: 1, column: 1 };
  }
}

function isDefault(origin: Origin): boolean {
  return origin.kind === 'default' || origin.kind === 'legacy default';
}
