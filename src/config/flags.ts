import { durationMs } from '../api/duration.ts';
import type { ConfigFault, ConfigWarning } from './errors.ts';
import { type Field, fieldByFlag, fields } from './fields.ts';
import { FlagValueError, flagValue, parseFlagBool, parseFlagDuration, parseFlagInt } from './flag-values.ts';
import { getPath, type JsonObject, setPath } from './json-object.ts';
import { configDeprecation, type KubeletFlag, kubeletFlags, removedFlags } from './kubelet-flags.ts';
import { nearest } from './nearest.ts';
import type { KubeletFlags } from './types.ts';

export interface ParsedFlags {
  flags: KubeletFlags;
  /** Texts given for each flag that sets a configuration field, in order. */
  fieldTexts: Map<Field, string[]>;
  /** Kubelet flags that were given. */
  given: Set<string>;
  help: boolean;
  /** `true`, `raw` or a version to report, when --version was given. */
  version: string | undefined;
  faults: ConfigFault[];
  warnings: ConfigWarning[];
}

type Known =
  | { kind: 'field'; field: Field; bool: boolean }
  | { kind: 'kubelet'; flag: KubeletFlag; bool: boolean }
  | { kind: 'help' | 'version'; bool: true };

const kubeletFlagByName = new Map(kubeletFlags.map((f) => [f.name, f]));

function lookup(name: string): Known | undefined {
  const field = fieldByFlag.get(name);
  if (field !== undefined) return { kind: 'field', field, bool: field.type.t === 'bool' };
  const flag = kubeletFlagByName.get(name);
  if (flag !== undefined) return { kind: 'kubelet', flag, bool: flag.type === 'bool' };
  if (name === 'help' || name === 'version') return { kind: name, bool: true };
  return undefined;
}

/** All names that can be given, without dashes. */
export function flagNames(): string[] {
  return [...fieldByFlag.keys(), ...kubeletFlagByName.keys(), 'help', 'version'];
}

function isDeprecated(field: Field): boolean {
  return field.flag !== undefined && field.flag.kept !== true;
}

function initialFlags(): KubeletFlags {
  const entries = kubeletFlags.map((f): [string, unknown] => [f.key, f.type === 'labels' ? Object.create(null) : f.default]);
  return Object.fromEntries(entries) as unknown as KubeletFlags;
}

class Scanner {
  readonly result: ParsedFlags = {
    flags: initialFlags(),
    fieldTexts: new Map(),
    given: new Set(),
    help: false,
    version: undefined,
    faults: [],
    warnings: [],
  };
  readonly #argv: readonly string[];
  readonly #warned = new Set<string>();
  #next = 0;

  constructor(argv: readonly string[]) {
    this.#argv = argv;
  }

  run(): ParsedFlags {
    const positional: string[] = [];
    while (this.#next < this.#argv.length) {
      const arg = this.#argv[this.#next++] ?? '';
      if (arg === '--') {
        positional.push(...this.#argv.slice(this.#next));
        break;
      }
      if (arg.startsWith('--')) this.#long(arg.slice(2));
      else if (arg.startsWith('-') && arg !== '-') this.#short(arg.slice(1));
      else positional.push(arg);
    }
    for (const word of positional) {
      const boolBefore = this.#argv[this.#argv.indexOf(word) - 1]?.replace(/^--/, '') ?? '';
      const hint =
        /^(true|false)$/i.test(word) && lookup(boolBefore)?.bool === true ? `write --${boolBefore}=${word}` : 'flags begin with --';
      this.#fault({ field: '', value: word, rule: 'is no command of the kubelet', remedy: hint });
    }
    return this.result;
  }

  #fault(fault: Omit<ConfigFault, 'code'>): void {
    this.result.faults.push({ code: 'flag', ...fault });
  }

  #warn(flag: string, message: string): void {
    if (this.#warned.has(flag)) return;
    this.#warned.add(flag);
    this.result.warnings.push({ flag, message });
  }

  #long(text: string): void {
    const equals = text.indexOf('=');
    const rawName = equals === -1 ? text : text.slice(0, equals);
    const inline = equals === -1 ? undefined : text.slice(equals + 1);
    const name = rawName.replaceAll('_', '-');
    if (name === '' || name.startsWith('-')) {
      this.#fault({ field: '', value: `--${rawName}`, rule: 'is no flag' });
      return;
    }
    const removed = removedFlags.get(name);
    if (removed !== undefined) {
      if (inline === undefined && !removed) this.#next += 1;
      this.#warn(name, `Flag --${name} has been removed and is ignored`);
      return;
    }
    const known = lookup(name);
    if (known === undefined) {
      const near = nearest(name, flagNames());
      const remedy = near === undefined ? '--help lists all flags' : `did you mean --${near}?`;
      this.#fault({ flag: name, field: '', rule: 'unknown flag', remedy });
      // A word after it is most likely its value and not a command.
      if (inline === undefined && this.#argv[this.#next]?.startsWith('-') === false) this.#next += 1;
      return;
    }
    const value = inline ?? (known.bool ? 'true' : this.#following(name));
    if (value !== undefined) this.#set(name, known, value);
  }

  /** `-v=2`, `-v2`, `-v 2`, `-h`. */
  #short(text: string): void {
    const letter = text.slice(0, 1);
    if (letter === 'h') {
      this.result.help = true;
      if (text.length > 1) this.#short(text.slice(1));
      return;
    }
    const field = fields.find((f) => f.flag?.short === letter);
    if (field?.flag === undefined) {
      const long = lookup(text.split('=', 1)[0]?.replaceAll('_', '-') ?? '');
      const remedy = long === undefined ? '--help lists all flags' : `write two dashes: --${text}`;
      this.#fault({ field: '', value: `-${text}`, rule: 'unknown flag', remedy });
      return;
    }
    const inline = text.length > 1 ? text.slice(text[1] === '=' ? 2 : 1) : undefined;
    const value = inline ?? this.#following(field.flag.name);
    if (value !== undefined) this.#set(field.flag.name, { kind: 'field', field, bool: false }, value);
  }

  #following(name: string): string | undefined {
    const value = this.#argv[this.#next];
    if (value === undefined) {
      this.#fault({ flag: name, field: '', rule: 'needs a value', remedy: `write --${name}=VALUE` });
      return undefined;
    }
    this.#next += 1;
    return value;
  }

  #set(name: string, known: Known, text: string): void {
    try {
      this.#store(name, known, text);
    } catch (error) {
      if (!(error instanceof FlagValueError)) throw error;
      this.#fault({ flag: name, field: '', value: text, rule: error.message });
    }
  }

  #store(name: string, known: Known, text: string): void {
    switch (known.kind) {
      case 'help':
        this.result.help = parseFlagBool(text);
        return;
      case 'version':
        if (text === 'raw' || text.startsWith('v')) this.result.version = text;
        else this.result.version = parseFlagBool(text) ? 'true' : undefined;
        return;
      case 'field': {
        const texts = this.result.fieldTexts.get(known.field);
        if (texts === undefined) this.result.fieldTexts.set(known.field, [text]);
        else texts.push(text);
        if (isDeprecated(known.field)) this.#warn(name, `Flag --${name} has been deprecated, ${configDeprecation}`);
        return;
      }
      case 'kubelet':
        this.result.given.add(name);
        this.#storeKubeletFlag(known.flag, text);
        if (known.flag.deprecated !== undefined) this.#warn(name, `Flag --${name} has been deprecated, ${known.flag.deprecated}`);
    }
  }

  #storeKubeletFlag(flag: KubeletFlag, text: string): void {
    const flags = this.result.flags as unknown as Record<string, unknown>;
    switch (flag.type) {
      case 'string':
        flags[flag.key] = text;
        return;
      case 'bool':
        flags[flag.key] = parseFlagBool(text);
        return;
      case 'int32':
        flags[flag.key] = parseFlagInt(text, 32);
        return;
      case 'duration':
        flags[flag.key] = durationMs(parseFlagDuration(text));
        return;
      case 'labels':
        for (const pair of text.split(',').filter((p) => p !== '')) {
          const equals = pair.indexOf('=');
          const key = (equals === -1 ? pair : pair.slice(0, equals)).trim();
          this.result.flags.nodeLabels[key] = equals === -1 ? '' : pair.slice(equals + 1).trim();
        }
    }
  }
}

/**
 * Reads the kubelet's command line, without the program's name, in the forms that the real one takes: `--name=value`,
 * `--name value`, `--bool`, `-v2`, underscores for dashes. Nothing is thrown: all faults come back together.
 */
export function parseFlags(argv: readonly string[]): ParsedFlags {
  return new Scanner(argv).run();
}

/** Puts the flags onto a configuration, in place. Returns the paths they set, with the flag's name, and what was refused. */
export function applyFlags(config: JsonObject, parsed: ParsedFlags): { set: [path: string, flag: string][]; faults: ConfigFault[] } {
  const set: [string, string][] = [];
  const faults: ConfigFault[] = [];
  for (const [field, texts] of parsed.fieldTexts) {
    const flag = field.flag?.name ?? '';
    try {
      setPath(config, field.path, flagValue(field, texts, getPath(config, field.path)));
      set.push([field.path, flag]);
    } catch (error) {
      if (!(error instanceof FlagValueError)) throw error;
      const shown = field.masked === true ? {} : { value: texts.join(' ') };
      faults.push({ code: 'flag', flag, field: field.path, ...shown, rule: error.message });
    }
  }
  return { set, faults };
}
