import type { Container, EnvVar, EnvVarSource, Pod, ResourceList } from '../api/types.ts';
import { ConfigGenerationError } from './config-error.ts';
import { containerOf, DownwardError, metadataField, resourceField, splitSubscript } from './downward.ts';
import { expand, lookupIn } from './env-expansion.ts';

/**
 * Objects of the API server that an environment may refer to. Undefined: there is no such object. Rejects when it
 * cannot be known. A value that is no UTF-8 comes as a string that is not well-formed. A standalone agent has no such
 * port at all.
 */
export interface EnvObjects {
  configMap(namespace: string, name: string): Promise<{ data: ReadonlyMap<string, string> } | undefined>;
  secret(namespace: string, name: string): Promise<{ data: ReadonlyMap<string, string> } | undefined>;
}

export interface EnvironmentInput {
  pod: Pod;
  container: Container;
  /** Primary first; empty while the pod has none. */
  podIps: readonly string[];
  hostIps: readonly string[];
  nodeName: string;
  /** The node's allocatable, which stands in for unset limits. */
  allocatable: ResourceList;
  /** Variables of the services that the pod may see; none without an API server. */
  serviceEnv?: ReadonlyMap<string, string>;
  objects?: EnvObjects | undefined;
  /** A key of an env file in one of the pod's volumes (EnvFiles); undefined: the key is not in it. */
  fileKey?: ((volumeName: string, path: string, key: string) => Promise<string | undefined>) | undefined;
}

/** One variable as the runtime takes it. */
export interface ResolvedEnv {
  name: string;
  value: string;
}

/**
 * The container's environment: envFrom, then env with `$(NAME)` expanded against what came before it and the services,
 * then the services' variables that are not set yet. Names keep the place of their first mention. Throws
 * ConfigGenerationError; its message never holds a value. Source: contract pod-lifecycle.md §10.
 */
export async function containerEnvironment(input: EnvironmentInput): Promise<ResolvedEnv[]> {
  const env = new Map<string, string>();
  const services = input.serviceEnv ?? new Map<string, string>();
  const objects = new ObjectReader(input);
  for (const source of input.container.envFrom ?? []) {
    const ref = source.configMapRef ?? source.secretRef;
    if (ref === undefined || ref === null) continue;
    const kind = source.configMapRef ? 'ConfigMap' : 'Secret';
    const data = await objects.read(kind, ref.name ?? '', ref.optional === true);
    for (const [key, value] of data ?? []) setVariable(env, `${source.prefix ?? ''}${key}`, value, input);
  }
  const lookup = lookupIn(env, services);
  for (const variable of input.container.env ?? []) {
    const value = await variableValue(variable, input, objects, lookup);
    if (value !== undefined) setVariable(env, variable.name, value, input);
  }
  for (const [name, value] of services) if (!env.has(name)) setVariable(env, name, value, input);
  return [...env].map(([name, value]) => ({ name, value }));
}

function setVariable(env: Map<string, string>, name: string, value: string, { container }: EnvironmentInput): void {
  // A line break in a name or a NUL anywhere would end up as another variable in the process (CVE-2022-4318).
  if (name === '' || /[\0\n\r=]/.test(name)) {
    throw new ConfigGenerationError(
      `environment variable name ${JSON.stringify(name)} is empty or holds NUL, a line break or '='`,
      container.name,
    );
  }
  if (value.includes('\0')) throw new ConfigGenerationError(`environment variable ${name} has a NUL byte in its value`, container.name);
  // How an object's bytes that are no text come here: see EnvObjects.
  if (!value.isWellFormed()) throw new ConfigGenerationError(`environment variable ${name} has a value that is no UTF-8`, container.name);
  env.set(name, value);
}

async function variableValue(
  variable: EnvVar,
  input: EnvironmentInput,
  objects: ObjectReader,
  lookup: (name: string) => string | undefined,
): Promise<string | undefined> {
  if (variable.value !== undefined && variable.value !== null && variable.value !== '') return expand(variable.value, lookup);
  const source = variable.valueFrom;
  if (source === undefined || source === null) return '';
  try {
    return await sourceValue(source, input, objects);
  } catch (err) {
    if (!(err instanceof DownwardError)) throw err;
    throw new ConfigGenerationError(`environment variable ${variable.name}: ${err.message}`, input.container.name, err);
  }
}

/** Undefined: optional and not there, the variable is left out. */
async function sourceValue(source: EnvVarSource, input: EnvironmentInput, objects: ObjectReader): Promise<string | undefined> {
  if (source.fieldRef) return podField(source.fieldRef.fieldPath, input);
  if (source.resourceFieldRef) {
    const { containerName, resource, divisor } = source.resourceFieldRef;
    const container = containerName ? containerOf(input.pod, containerName) : input.container;
    const ref = { resource, ...(divisor === undefined || divisor === null ? {} : { divisor }) };
    return resourceField(ref, container, limitDefaults(input));
  }
  if (source.configMapKeyRef) return objects.key('ConfigMap', source.configMapKeyRef);
  if (source.secretKeyRef) return objects.key('Secret', source.secretKeyRef);
  if (source.fileKeyRef) {
    const { volumeName, path, key, optional } = source.fileKeyRef;
    if (input.fileKey === undefined) throw new ConfigGenerationError('fileKeyRef is not supported on this node', input.container.name);
    const value = await input.fileKey(volumeName, path, key);
    if (value === undefined && optional !== true) {
      throw new ConfigGenerationError(`environment variable key ${JSON.stringify(key)} not found in file ${path}`, input.container.name);
    }
    return value;
  }
  return '';
}

/** Pod-level limits, where set, stand in for unset container limits; else the node's allocatable. */
function limitDefaults({ pod, allocatable }: EnvironmentInput): ResourceList {
  const { cpu, memory } = pod.spec.resources?.limits ?? {};
  return { ...allocatable, ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
}

function podField(fieldPath: string, { pod, podIps, hostIps, nodeName }: EnvironmentInput): string {
  switch (fieldPath) {
    case 'spec.nodeName':
    case 'spec.host':
      return pod.spec.nodeName ?? nodeName;
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'status.hostIP':
    case 'status.hostIPs':
      if (hostIps[0] === undefined) throw new DownwardError(`${fieldPath}: the node has no address`);
      return fieldPath === 'status.hostIP' ? hostIps[0] : hostIps.join(',');
    case 'status.podIP':
    case 'status.podIPs': {
      const ips = podIps.length === 0 && pod.spec.hostNetwork === true ? hostIps : podIps;
      if (ips[0] === undefined) throw new DownwardError(`${fieldPath}: the pod has no IP yet`);
      return fieldPath === 'status.podIP' ? ips[0] : ips.join(',');
    }
    default:
      if (splitSubscript(fieldPath).subscript === undefined && (fieldPath === 'metadata.labels' || fieldPath === 'metadata.annotations')) {
        throw new DownwardError(`fieldPath ${fieldPath} needs a key, as in ${fieldPath}['key']`);
      }
      return metadataField(pod, fieldPath);
  }
}

/** Reads each object once, and says in one place what is wrong with a reference. */
class ObjectReader {
  readonly #input: EnvironmentInput;
  readonly #read = new Map<string, ReadonlyMap<string, string> | undefined>();

  constructor(input: EnvironmentInput) {
    this.#input = input;
  }

  /** Undefined: optional and missing. */
  async read(kind: 'ConfigMap' | 'Secret', name: string, optional: boolean): Promise<ReadonlyMap<string, string> | undefined> {
    const { pod, container, objects } = this.#input;
    const { namespace } = pod.metadata;
    const what = `${kind} ${namespace}/${name}`;
    if (objects === undefined) {
      throw new ConfigGenerationError(`couldn't get ${what}: this node runs without an API server`, container.name);
    }
    const known = `${kind}/${name}`;
    if (!this.#read.has(known)) {
      const found = await (kind === 'ConfigMap' ? objects.configMap(namespace, name) : objects.secret(namespace, name)).catch(
        (err: unknown) => {
          throw new ConfigGenerationError(`couldn't get ${what}: ${err instanceof Error ? err.message : String(err)}`, container.name, err);
        },
      );
      this.#read.set(known, found?.data);
    }
    const data = this.#read.get(known);
    if (data === undefined && !optional) throw new ConfigGenerationError(`${kind.toLowerCase()} "${name}" not found`, container.name);
    return data;
  }

  async key(kind: 'ConfigMap' | 'Secret', ref: { name?: string; key: string; optional?: boolean }): Promise<string | undefined> {
    const { pod, container } = this.#input;
    const optional = ref.optional === true;
    const value = (await this.read(kind, ref.name ?? '', optional))?.get(ref.key);
    if (value === undefined && !optional) {
      throw new ConfigGenerationError(
        `couldn't find key ${ref.key} in ${kind} ${pod.metadata.namespace}/${ref.name ?? ''}`,
        container.name,
      );
    }
    return value;
  }
}
