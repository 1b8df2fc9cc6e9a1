import { parseDuration } from '../api/duration.ts';
import type { FeatureGates } from './feature-gates.ts';
import type { FieldType } from './field-types.ts';
import { type Field, fields } from './fields.ts';
import { cloneJson, getPath, isObject, type JsonObject, newObject, setPath } from './json-object.ts';

/** Thresholds that the kubelet puts in when --config is used and evictionHard is absent. Contract: flags-config.md §3. */
export const defaultEvictionHard: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

export function isZero(value: unknown, type: FieldType): boolean {
  if (value === undefined || value === null) return true;
  switch (type.t) {
    case 'bool':
      return value === false;
    case 'int':
    case 'float':
      return value === 0;
    case 'string':
      return value === '';
    case 'duration':
      return value === '0s';
    case 'durationOrNanos':
      return value === 0 || value === '0s';
    case 'quantity':
      return value === '0';
    case 'list':
      return Array.isArray(value) && value.length === 0;
    case 'map':
    case 'struct':
      return isObject(value) && Object.keys(value).length === 0;
    case 'time':
      return value === '';
  }
}

/** Lists and maps that are empty are set; so is a pointer to zero. */
function isUnset(field: Field, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (field.pointer === true || field.type.t === 'list' || field.type.t === 'map') return false;
  return isZero(value, field.type);
}

function defaultOf(field: Field, config: JsonObject, gates: FeatureGates): unknown {
  switch (field.path) {
    case 'nodeStatusReportFrequency': {
      const update = config['nodeStatusUpdateFrequency'];
      return update === undefined || update === '0s' ? field.default : update;
    }
    case 'serializeImagePulls': {
      const parallel = config['maxParallelImagePulls'];
      return !(typeof parallel === 'number' && parallel >= 2);
    }
    case 'crashLoopBackOff.maxContainerRestartPeriod':
      return gates.enabled('KubeletCrashLoopBackOffMax') ? field.default : undefined;
    case 'imagePullCredentialsVerificationPolicy':
      return gates.enabled('KubeletEnsureSecretPulledImages') ? field.default : undefined;
    default:
      return field.default;
  }
}

/**
 * Puts in the v1beta1 defaults, as the real defaulting does: value types count as unset when they are zero. Returns
 * the paths that it filled. Contract: flags-config.md §3.
 */
export function applyDefaults(config: JsonObject, gates: FeatureGates): string[] {
  const filled: string[] = [];
  const computed = fields.filter((f) => isUnset(f, getPath(config, f.path))).map((f) => [f, defaultOf(f, config, gates)] as const);
  for (const [field, value] of computed) {
    if (value === undefined) continue;
    setPath(config, field.path, cloneJson(value));
    filled.push(field.path);
  }
  const pids = config['podPidsLimit'];
  if (typeof pids === 'number' && pids < 0) config['podPidsLimit'] = -1;
  return filled;
}

/** What applies in place of some defaults while the command line alone configures the kubelet. */
export function applyLegacyDefaults(config: JsonObject): string[] {
  const filled: string[] = [];
  for (const field of fields) {
    if (field.legacyDefault === undefined) continue;
    setPath(config, field.path, field.legacyDefault);
    filled.push(field.path);
  }
  return filled;
}

/** The hard thresholds that --config brings along. Returns the map keys that it filled, or `true` for the whole map. */
export function injectEvictionHard(config: JsonObject): readonly string[] | true {
  const given = config['evictionHard'];
  if (!isObject(given)) {
    config['evictionHard'] = cloneJson(defaultEvictionHard);
    return true;
  }
  if (config['mergeDefaultEvictionSettings'] !== true) return [];
  const missing = Object.keys(defaultEvictionHard).filter((signal) => !Object.hasOwn(given, signal));
  for (const signal of missing) given[signal] = defaultEvictionHard[signal];
  return missing;
}

/** Fields that Go writes even when they are zero. Durations and quantities are structs to it, which it never leaves out. */
const alwaysWritten = new Set(['logging.verbosity', 'containerRuntimeEndpoint']);

function writeValue(value: unknown, type: FieldType): unknown {
  if (type.t === 'list' && Array.isArray(value)) return value.map((item) => writeValue(item, type.of) ?? zeroOf(type.of));
  if (type.t === 'map' && isObject(value)) {
    const out = newObject();
    for (const [k, v] of Object.entries(value)) out[k] = writeValue(v, type.of) ?? (type.of.t === 'list' ? null : zeroOf(type.of));
    return out;
  }
  if (type.t === 'struct' && isObject(value)) {
    const out = newObject();
    for (const [name, sub] of Object.entries(type.fields)) {
      const given = value[name];
      if (sub.pointer === true ? given !== undefined : sub.always === true || !isZero(given, sub.type)) {
        out[name] = given === undefined ? zeroOf(sub.type) : writeValue(given, sub.type);
      }
    }
    return out;
  }
  return value;
}

/** Go's zero value in JSON form. */
export function zeroOf(type: FieldType): unknown {
  switch (type.t) {
    case 'bool':
      return false;
    case 'int':
    case 'float':
      return 0;
    case 'string':
    case 'time':
      return '';
    case 'duration':
    case 'durationOrNanos':
      return '0s';
    case 'quantity':
      return '0';
    case 'list':
    case 'map':
      return null;
    case 'struct':
      return writeValue(newObject(), type);
  }
}

/**
 * The configuration as Go would write it to JSON: zero values left out where its type says `omitempty`, structs always
 * there. An empty list or map is thereby gone, which is why it turns into the default again when a drop-in is merged.
 */
export function toJsonForm(config: JsonObject): JsonObject {
  const out = newObject();
  out['apiVersion'] = 'kubelet.config.k8s.io/v1beta1';
  out['kind'] = 'KubeletConfiguration';
  for (const field of fields) {
    const value = getPath(config, field.path);
    const parent = field.path.slice(0, Math.max(field.path.lastIndexOf('.'), 0));
    if (parent !== '' && getPath(out, parent) === undefined) setPath(out, parent, newObject());
    const isStruct = field.type.t === 'duration' || field.type.t === 'durationOrNanos' || field.type.t === 'quantity';
    if (field.pointer === true) {
      if (value !== undefined) setPath(out, field.path, writeValue(value, field.type));
    } else if (isStruct || alwaysWritten.has(field.path)) {
      setPath(out, field.path, value ?? zeroOf(field.type));
    } else if (!isZero(value, field.type)) setPath(out, field.path, writeValue(value, field.type));
  }
  return out;
}

/** Milliseconds of a duration in JSON form, which may be a number of nanoseconds. */
export function jsonDurationMs(value: unknown): number {
  if (typeof value === 'number') return value / 1e6;
  return typeof value === 'string' ? Number(parseDuration(value)) / 1e6 : 0;
}
