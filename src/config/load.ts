import { dirname, isAbsolute, join, resolve } from 'node:path';
import { joinPath } from '../api/path.ts';
import { applyDefaults, applyLegacyDefaults, injectEvictionHard, toJsonForm } from './defaults.ts';
import { ConfigErrors, type ConfigFault, type ConfigWarning, inOrder } from './errors.ts';
import { gateSpecs } from './feature-gate-table.ts';
import { defaultGates, evaluateGates, type FeatureGates } from './feature-gates.ts';
import { fields } from './fields.ts';
import { checkFlags } from './flag-checks.ts';
import { applyFlags, type ParsedFlags, parseFlags } from './flags.ts';
import { cloneJson, getPath, isObject, type JsonObject, newObject, setPath } from './json-object.ts';
import { mergePatch } from './merge.ts';
import { type Origin, Origins } from './origin.ts';
import { type ConfigIo, type ReadConfig, readConfigFile, unreadable } from './read-file.ts';
import { type ResolvedConfig, resolveConfig } from './resolve.ts';
import { checkStart } from './start-checks.ts';
import type { KubeletConfiguration, KubeletFlags } from './types.ts';
import { type HostFacts, validateConfig } from './validate.ts';

export interface LoadedKubelet {
  flags: KubeletFlags;
  config: KubeletConfiguration;
  resolved: ResolvedConfig;
  origins: Origins;
  warnings: ConfigWarning[];
  /** Files in the drop-in folder that do not end in .conf. */
  skippedDropIns: string[];
}

export interface LoadIo extends ConfigIo {
  /** True on a host with cgroup v2. */
  cgroupV2(): Promise<boolean>;
}

function gatesOf(value: unknown): Record<string, boolean> {
  const gates: Record<string, boolean> = Object.create(null);
  if (isObject(value)) for (const [gate, on] of Object.entries(value)) if (typeof on === 'boolean') gates[gate] = on;
  return gates;
}

/** A configuration while it is put together from its sources, each over the ones before. */
export class ConfigBuilder {
  config: JsonObject = newObject();
  readonly origins = new Origins();
  readonly faults: ConfigFault[] = [];
  readonly warnings: ConfigWarning[] = [];
  readonly skippedDropIns: string[] = [];
  readonly #io: ConfigIo;
  readonly #flagGates: Readonly<Record<string, boolean>>;

  constructor(io: ConfigIo, flagGates: Readonly<Record<string, boolean>> = {}) {
    this.#io = io;
    this.#flagGates = flagGates;
  }

  /** The start without --config. */
  begin(): void {
    this.#fill();
    for (const path of applyLegacyDefaults(this.config)) this.origins.set(path, { kind: 'legacy default' });
  }

  /** The start with --config: the file replaces everything. */
  async mainFile(path: string): Promise<void> {
    const absolute = resolve(this.#io.cwd, path);
    this.main(await readConfigFile(this.#io, absolute, path, false), absolute, path);
  }

  /** `mainFile` with the file read. `file` is absolute, `shown` is how messages name it. */
  main(read: ReadConfig, file: string, shown: string): void {
    this.#take(read);
    this.origins.mainFile = shown;
    this.config = cloneJson(read.decoded?.value ?? newObject());
    this.#setOrigins(read, 'file', shown);
    this.#fill();
    for (const field of fields) {
      const value = getPath(this.config, field.path);
      if (field.relativePath === true && typeof value === 'string' && value !== '' && !isAbsolute(value)) {
        setPath(this.config, field.path, joinPath(dirname(file), value));
      }
    }
  }

  /** What the real kubelet adds after --config was read. */
  evictionDefaults(): void {
    const added = injectEvictionHard(this.config);
    if (added === true) this.origins.delete('evictionHard');
    else for (const signal of added) this.origins.set(`evictionHard[${signal}]`, { kind: 'default' });
  }

  /** Merges every `.conf` file below a folder, in order of names. */
  async dropIns(folder: string): Promise<void> {
    this.config = toJsonForm(this.config);
    for (const path of await this.#walk(folder)) await this.#dropIn(path);
    this.#fill();
  }

  /** Merges one drop-in, wherever it lies. */
  async dropInFile(path: string): Promise<void> {
    this.config = toJsonForm(this.config);
    await this.#dropIn(path);
    this.#fill();
  }

  async #dropIn(path: string): Promise<void> {
    const read = await readConfigFile(this.#io, resolve(this.#io.cwd, path), path, true);
    this.#take(read);
    if (read.decoded === undefined) return;
    this.config = mergePatch(this.config, read.decoded.value);
    this.#setOrigins(read, 'drop-in', path);
  }

  async #walk(folder: string): Promise<string[]> {
    const found: string[] = [];
    try {
      const entries = await this.#io.listDir(resolve(this.#io.cwd, folder));
      entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
      for (const entry of entries) {
        const path = join(folder, entry.name);
        if (entry.kind === 'directory') found.push(...(await this.#walk(path)));
        else if (entry.name.endsWith('.conf')) found.push(path);
        else this.skippedDropIns.push(path);
      }
    } catch (error) {
      this.faults.push(unreadable(folder, error));
    }
    return found;
  }

  flags(parsed: ParsedFlags): void {
    const { set, faults } = applyFlags(this.config, parsed);
    this.faults.push(...faults);
    for (const [path, flag] of set) {
      const origin: Origin = { kind: 'flag', flag };
      if (path === 'featureGates') {
        for (const gate of Object.keys(this.#flagGates)) this.origins.set(`featureGates[${gate}]`, origin);
        continue;
      }
      this.origins.delete(path);
      this.origins.set(path, origin);
    }
  }

  /** Checks everything and returns the result; the caller looks at `faults`. */
  finish(host: HostFacts): { config: KubeletConfiguration; resolved: ResolvedConfig } {
    const { faults, fading } = evaluateGates(gatesOf(this.config['featureGates']));
    for (const { gate, ...fault } of faults) {
      const because = `featureGates[All${gateSpecs.get(gate)?.stage}]`;
      this.faults.push(this.origins.locate({ field: `featureGates[${gate}]`, because, ...fault }, 'gate'));
    }
    for (const { gate, stage } of fading) {
      const message = `the feature gate ${gate} is ${stage === 'GA' ? 'generally available' : 'deprecated'} and will be removed in a future release`;
      const place = this.origins.locate({ field: `featureGates[${gate}]`, rule: message }, 'gate');
      const { file, line, column } = place;
      this.warnings.push({
        ...(file === undefined ? {} : { file }),
        ...(line === undefined ? {} : { line, column: column ?? 1 }),
        message,
      });
    }
    const config = toJsonForm(this.config) as unknown as KubeletConfiguration;
    const resolved = resolveConfig(config);
    const broken = [...validateConfig(resolved, host), ...checkStart(resolved, host)];
    this.faults.push(...broken.map((fault) => this.origins.locate(fault, 'invalid')));
    return { config, resolved };
  }

  /** False when a file could not be read at all, so that the values in force are not those that were meant. */
  isRead(): boolean {
    return !this.faults.some((f) => f.code === 'unreadable' || f.code === 'syntax' || f.code === 'kind');
  }

  /** What asks the API server for every request cannot work without one. */
  standalone(resolved: ResolvedConfig): void {
    const rule = 'needs an API server, and --kubeconfig is not given';
    const webhook = { field: 'authentication.webhook.enabled', value: true, rule, remedy: 'set it to false' };
    if (resolved.authentication.webhook.enabled) this.faults.push(this.origins.locate(webhook, 'invalid'));
    const mode = {
      field: 'authorization.mode',
      value: 'Webhook',
      rule,
      remedy: 'set it to AlwaysAllow, with anonymous authentication off',
    };
    if (resolved.authorization.mode === 'Webhook') this.faults.push(this.origins.locate(mode, 'invalid'));
  }

  /** Values that were refused when they were read are absent; rules on their defaults would only confuse. */
  #take(read: ReadConfig): void {
    this.faults.push(...read.faults);
    this.warnings.push(...read.warnings);
  }

  #fill(): void {
    const gates: FeatureGates = evaluateGates({ ...this.#flagGates, ...gatesOf(this.config['featureGates']) }).gates ?? defaultGates;
    for (const path of applyDefaults(this.config, gates)) this.origins.delete(path);
  }

  #setOrigins(read: ReadConfig, kind: 'file' | 'drop-in', file: string): void {
    for (const [path, at] of read.decoded?.places ?? []) {
      const value = getPath(read.decoded?.value ?? newObject(), path);
      if (Array.isArray(value)) this.origins.clearBelow(path);
      this.origins.set(path, { kind, file, ...at });
    }
  }
}

/** Gates that the command line sets; what cannot be read is reported elsewhere. */
function gatesFromFlags(parsed: ParsedFlags): Record<string, boolean> {
  const only: ParsedFlags = { ...parsed, fieldTexts: new Map([...parsed.fieldTexts].filter(([f]) => f.path === 'featureGates')) };
  const config = newObject();
  applyFlags(config, only);
  return gatesOf(config['featureGates']);
}

/**
 * Puts flags and files together (contract: flags-config.md §1, §2): flag over drop-in over --config over default.
 * Rejects with ConfigErrors that holds everything that is wrong. Help and version are the caller's.
 */
export async function loadKubelet(argv: readonly string[], io: LoadIo): Promise<LoadedKubelet> {
  const parsed = parseFlags(argv);
  const builder = new ConfigBuilder(io, gatesFromFlags(parsed));
  builder.faults.push(...parsed.faults, ...checkFlags(parsed.flags));
  builder.warnings.push(...parsed.warnings);
  const { config: file, configDir } = parsed.flags;
  if (file === '') builder.begin();
  else {
    await builder.mainFile(file);
    builder.evictionDefaults();
  }
  if (configDir !== '') await builder.dropIns(configDir);
  builder.flags(parsed);
  const { config, resolved } = builder.finish({ cgroupV2: await io.cgroupV2() });
  if (parsed.flags.kubeconfig === '' && builder.isRead()) builder.standalone(resolved);
  if (builder.faults.length > 0) throw new ConfigErrors(inOrder(builder.faults));
  const { origins, warnings, skippedDropIns } = builder;
  return { flags: parsed.flags, config, resolved, origins, warnings, skippedDropIns };
}
