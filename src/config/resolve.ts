import { Quantity } from '../api/quantity.ts';
import { jsonDurationMs, zeroOf } from './defaults.ts';
import { defaultGates, evaluateGates, type FeatureGates } from './feature-gates.ts';
import { fields } from './fields.ts';
import { getPath, type JsonObject, newObject, setPath } from './json-object.ts';
import type { GoDuration, KubeletConfiguration } from './types.ts';

/** Fields of which "absent" is a value of its own. */
type PointerKey =
  | 'singleProcessOOMKill'
  | 'maxParallelImagePulls'
  | 'memoryThrottlingFactor'
  | 'tracing'
  | 'userNamespaces'
  | 'maxContainerRestartPeriod'
  | 'endpoint'
  | 'samplingRatePerMillion'
  | 'idsPerPod';

type IsDuration<V> = [Extract<V, GoDuration>] extends [never] ? false : true;
type ResolvedKey<K, V> = IsDuration<V> extends true ? `${K & string}Ms` : K;
type ResolvedValue<V> = IsDuration<V> extends true ? number : V extends readonly unknown[] ? V : V extends object ? Resolve<V> : V;
type Resolve<T> = {
  [K in keyof T as K extends PointerKey ? never : ResolvedKey<K, T[K]>]-?: ResolvedValue<NonNullable<T[K]>>;
} & {
  [K in keyof T as K extends PointerKey ? ResolvedKey<K, T[K]> : never]?: ResolvedValue<NonNullable<T[K]>>;
};

/**
 * The configuration for those who use it: the same names, every field there (empty lists, maps and texts in place of
 * absent ones), and each duration `x` as milliseconds `xMs`. Only fields for which "not given" means something are
 * optional.
 */
export interface ResolvedConfig extends Resolve<Omit<KubeletConfiguration, 'apiVersion' | 'kind'>> {
  gates: FeatureGates;
  /** Negative: logs are not rotated. */
  containerLogMaxSizeBytes: number;
}

function sizeOf(text: string): number {
  try {
    return Number(Quantity.parse(text).value());
  } catch {
    // Refused by the start checks; nothing runs with this value.
    return 0;
  }
}

/** The view that services get. Feature gates that cannot be applied count as not given; validation refuses them. */
export function resolveConfig(config: KubeletConfiguration): ResolvedConfig {
  const source = config as unknown as JsonObject;
  const out = newObject();
  for (const field of fields) {
    const value = getPath(source, field.path);
    if (field.type.t === 'duration' || field.type.t === 'durationOrNanos') {
      if (value !== undefined || field.pointer !== true) setPath(out, `${field.path}Ms`, jsonDurationMs(value));
      else setPath(out, `${field.path}Ms`, undefined);
      continue;
    }
    if (value !== undefined || field.pointer === true) {
      setPath(out, field.path, value);
      continue;
    }
    const empty = field.type.t === 'list' ? [] : field.type.t === 'map' ? newObject() : zeroOf(field.type);
    setPath(out, field.path, empty);
  }
  const gates = config.featureGates === undefined ? defaultGates : evaluateGates(config.featureGates).gates;
  out['gates'] = gates;
  out['containerLogMaxSizeBytes'] = sizeOf(config.containerLogMaxSize ?? '0');
  return out as unknown as ResolvedConfig;
}
