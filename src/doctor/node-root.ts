import { posix } from 'node:path';
import { type Located, parseLocated } from '../config/yaml.ts';

/** A file of a node as the checks see it. */
export interface FileFact {
  /** On the node, without the root that it was looked at under. */
  path: string;
  /** Permission bits. */
  mode: number;
  uid: number;
  gid: number;
}

/** What is known of a kubelet that is installed under a root. */
export interface NodeRootFacts {
  /** The unit and its drop-ins; empty when there is none. */
  serviceFiles: readonly FileFact[];
  /** By long name, as the service or the running process has them; a flag without a value is `true`. */
  flags: ReadonlyMap<string, string>;
  /** Undefined: there is none, or it is no configuration. */
  config: ConfigValues | undefined;
  /** Files by what they are; absent ones are undefined. */
  files: Readonly<Record<'config' | 'kubeconfig' | 'clientCA' | 'proxyKubeconfig', FileFact | undefined>>;
  /** Problems in reading, one line each. */
  problems: readonly string[];
}

/** The values of a configuration file by dotted path. */
export type ConfigValues = ReadonlyMap<string, string | readonly string[]>;

/** How the checks read a node. Paths are those on the node. */
export interface RootReader {
  fact(path: string): Promise<FileFact | undefined>;
  read(path: string): Promise<string | undefined>;
  /** Full paths of the files in a folder; empty when it is missing. */
  list(folder: string): Promise<readonly string[]>;
  /** Arguments of the kubelet that runs; undefined when none does, or when the root is not this machine's. */
  running(): Promise<readonly string[] | undefined>;
}

const UNITS = ['/etc/systemd/system/kubelet.service', '/usr/lib/systemd/system/kubelet.service', '/lib/systemd/system/kubelet.service'];
const DROP_INS = ['/etc/systemd/system/kubelet.service.d', '/usr/lib/systemd/system/kubelet.service.d'];
const PROXY_KUBECONFIGS = ['/etc/kubernetes/proxy.conf', '/var/lib/kube-proxy/kubeconfig.conf', '/etc/kubernetes/kube-proxy.kubeconfig'];
const DEFAULT_CONFIG = '/var/lib/kubelet/config.yaml';
const DEFAULT_KUBECONFIG = '/etc/kubernetes/kubelet.conf';

/** Reads what the checks need. A running kubelet's own arguments win over the unit's. Never rejects: what fails is a problem. */
export async function readNodeRoot(reader: RootReader): Promise<NodeRootFacts> {
  const problems: string[] = [];
  const unit = await firstOf(UNITS, (path) => reader.fact(path));
  const dropIns = (await Promise.all(DROP_INS.map((folder) => reader.list(folder)))).flat().filter((path) => path.endsWith('.conf'));
  const serviceFiles = [unit, ...(await Promise.all(dropIns.map((path) => reader.fact(path))))].filter((f) => f !== undefined);
  const running = await reader.running();
  const texts = await Promise.all(serviceFiles.map(async (f) => (await reader.read(f.path)) ?? ''));
  const args = running ?? (await serviceArguments(texts, reader));
  if (serviceFiles.length === 0 && running === undefined)
    problems.push('no kubelet runs, and there is no kubelet.service: only files at their usual places are checked');
  const flags = flagsOf(args);
  const configPath = flags.get('config') ?? DEFAULT_CONFIG;
  const text = await reader.read(configPath);
  const config = text === undefined ? undefined : configValues(text);
  if (text !== undefined && config === undefined) problems.push(`${configPath} is not readable as a configuration`);
  const clientCA = flags.get('client-ca-file') ?? single(config?.get('authentication.x509.clientCAFile'));
  const proxy = await firstOf(PROXY_KUBECONFIGS, (path) => reader.fact(path));
  return {
    serviceFiles,
    flags,
    config,
    files: {
      config: await reader.fact(configPath),
      kubeconfig: await reader.fact(flags.get('kubeconfig') ?? DEFAULT_KUBECONFIG),
      clientCA: clientCA === undefined || clientCA === '' ? undefined : await reader.fact(clientCA),
      proxyKubeconfig: proxy,
    },
    problems,
  };
}

const single = (value: string | readonly string[] | undefined) => (typeof value === 'string' ? value : undefined);

async function firstOf<T>(paths: readonly string[], look: (path: string) => Promise<T | undefined>): Promise<T | undefined> {
  for (const path of paths) {
    const found = await look(path);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The arguments of the service's last ExecStart, with the variables of its environment files put in. */
export async function serviceArguments(texts: readonly string[], reader: Pick<RootReader, 'read'>): Promise<string[]> {
  const environment = new Map<string, string>();
  let command = '';
  for (const line of texts.flatMap((text) => text.replaceAll(/\\\n\s*/g, ' ').split('\n'))) {
    const [, key = '', value = ''] = /^\s*(ExecStart|Environment|EnvironmentFile)=(.*)$/.exec(line) ?? [];
    if (key === 'ExecStart') command = value.trim();
    if (key === 'Environment') addVariable(environment, value.trim().replaceAll(/^"|"$/g, ''));
    if (key === 'EnvironmentFile') {
      const text = (await reader.read(posix.normalize(value.trim().replace(/^-/, '')))) ?? '';
      for (const entry of text.split('\n')) addVariable(environment, entry.trim());
    }
  }
  const words = command.split(/\s+/).slice(1);
  return words.flatMap((word) => {
    const name = /^\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?$/.exec(word)?.[1];
    return name === undefined ? [word] : (environment.get(name) ?? '').split(/\s+/).filter((w) => w !== '');
  });
}

function addVariable(environment: Map<string, string>, text: string): void {
  const at = text.indexOf('=');
  if (at > 0 && !text.startsWith('#')) environment.set(text.slice(0, at), text.slice(at + 1).replaceAll(/^["']|["']$/g, ''));
}

/** `--name=value`, `--name value` and `--name`, the last one of each name. */
export function flagsOf(args: readonly string[]): Map<string, string> {
  const flags = new Map<string, string>();
  for (const [i, arg] of args.entries()) {
    const [, name, , value] = /^--?([^=]+)(=(.*))?$/s.exec(arg) ?? [];
    if (name === undefined) continue;
    const next = args[i + 1];
    flags.set(name, value ?? (next === undefined || next.startsWith('-') ? 'true' : next));
  }
  return flags;
}

/** Every scalar of a configuration as text, and every list of scalars, by its dotted path; undefined for what is no map. */
export function configValues(text: string): ConfigValues | undefined {
  const { value, faults } = parseLocated(Buffer.from(text));
  if (faults.length > 0 || value?.kind !== 'map') return undefined;
  const values = new Map<string, string | readonly string[]>();
  const add = (path: string, located: Located): void => {
    if (located.kind === 'scalar') values.set(path, String(located.value));
    else if (located.kind === 'list')
      values.set(
        path,
        located.items.map((item) => (item.kind === 'scalar' ? String(item.value) : '')),
      );
    else for (const [key, entry] of located.entries) add(path === '' ? key : `${path}.${key}`, entry.value);
  };
  add('', value);
  return values;
}
