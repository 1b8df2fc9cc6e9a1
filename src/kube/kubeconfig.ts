import { dirname, resolve } from 'node:path';
import { type Cluster, newClusters, newContexts, newUsers, type User } from '@kubernetes/client-node/dist/config_types.js';
import { type Located, parseLocated } from '../config/yaml.ts';

/** What a program named in a kubeconfig is run with (client.authentication.k8s.io). */
export interface ExecSpec {
  apiVersion: string;
  command: string;
  args: readonly string[];
  env: readonly { name: string; value: string }[];
  provideClusterInfo: boolean;
  installHint: string;
}

/** Bytes that stand in the kubeconfig, or the absolute path of the file that holds them. */
export type Material = { data: Buffer } | { file: string };

/** The server and the user of a kubeconfig's current context, checked. */
export interface KubeconfigContext {
  server: URL;
  ca?: Material | undefined;
  insecure: boolean;
  serverName?: string | undefined;
  cert?: Material | undefined;
  key?: Material | undefined;
  token?: Material | undefined;
  basic?: { username: string; password: string } | undefined;
  exec?: ExecSpec | undefined;
  impersonate?: string | undefined;
}

/** What is wrong with a kubeconfig: `file`, and where; values are never quoted. */
export class KubeconfigError extends Error {
  readonly code = 'kubeconfig';
  constructor(file: string, problem: string) {
    super(`kubeconfig ${file}: ${problem}`);
    this.name = 'KubeconfigError';
  }
}

/**
 * Reads a kubeconfig (YAML or JSON). Relative paths count from its folder. Clusters, users and contexts are read by
 * client-node's own reader, of which only this file is loaded: its KubeConfig class brings every model class with it.
 * `tokenFile`, which that reader does not know, is read here, and wins over `token` as in client-go.
 */
export function parseKubeconfig(text: Uint8Array, file: string): KubeconfigContext {
  const fail = (problem: string): never => {
    throw new KubeconfigError(file, problem);
  };
  const { value, faults } = parseLocated(text);
  // The reader's messages may quote the text, and the text holds secrets: only the place is told.
  if (faults[0]) fail(`is not readable at line ${faults[0].at.line}, column ${faults[0].at.column}`);
  const root = plain(value) as Record<string, unknown>;
  if (value?.kind !== 'map') fail('is no object');
  const current = text_(root['current-context']);
  if (current === '') fail('current-context is not set');
  const wrap = <T>(read: () => T): T => {
    try {
      return read();
    } catch (err) {
      return fail(err instanceof Error ? err.message : 'is not readable');
    }
  };
  const context = wrap(() => newContexts(root['contexts'])).find((c) => c.name === current) ?? fail(`there is no context "${current}"`);
  const entry = named(root['clusters'], context.cluster) ?? fail(`there is no cluster "${context.cluster}"`);
  const cluster = wrap(() => newClusters([entry]))[0] as Cluster;
  const rawUser = context.user === undefined ? undefined : named(root['users'], context.user);
  if (context.user !== undefined && !rawUser) fail(`there is no user "${context.user}"`);
  const fields = record(rawUser?.['user']);
  // Not a key of kubeconfig, but one that the reader would open a file for.
  delete fields['token-file'];
  const user = wrap(() => newUsers(rawUser ? [{ ...rawUser, user: fields }] : []))[0];
  if (text_(cluster.proxyUrl) !== '') fail(`clusters[${cluster.name}].cluster.proxy-url is not supported: remove it`);
  if (user?.authProvider) fail(`users[${user.name}].user.auth-provider was removed from Kubernetes: use exec`);

  const at = { base: dirname(resolve(file)), fail };
  const result: KubeconfigContext = {
    server: serverUrl(cluster, fail),
    ca: material(cluster.caData, cluster.caFile, `clusters[${cluster.name}].cluster.certificate-authority`, at),
    insecure: cluster.skipTLSVerify,
    serverName: text_(cluster.tlsServerName) || undefined,
  };
  if (result.insecure && result.ca)
    fail(`clusters[${cluster.name}]: insecure-skip-tls-verify and a certificate authority exclude each other`);
  if (user) addUser(result, user, text_(fields['tokenFile']), at);
  return result;
}

interface Place {
  base: string;
  fail: (problem: string) => never;
}

function addUser(result: KubeconfigContext, user: User, tokenFile: string, at: Place): void {
  const field = `users[${user.name}].user`;
  result.cert = material(user.certData, user.certFile, `${field}.client-certificate`, at);
  result.key = material(user.keyData, user.keyFile, `${field}.client-key`, at);
  if ((result.cert === undefined) !== (result.key === undefined)) at.fail(`${field}: client-certificate and client-key go together`);
  const token = text_(user.token);
  if (tokenFile !== '') result.token = { file: resolve(at.base, tokenFile) };
  else if (token !== '') result.token = { data: Buffer.from(token) };
  if (text_(user.username) !== '') result.basic = { username: text_(user.username), password: text_(user.password) };
  if (user.exec) result.exec = execSpec(user.exec, `${field}.exec`, at);
  result.impersonate = text_(user.impersonateUser) || undefined;
  if (result.basic && result.token) at.fail(`${field}: more than one way to authenticate: token and basic`);
}

function execSpec(value: unknown, field: string, { base, fail }: Place): ExecSpec {
  const exec = record(value);
  const apiVersion = text_(exec['apiVersion']);
  if (!/^client\.authentication\.k8s\.io\/v1(beta1)?$/.test(apiVersion)) {
    fail(`${field}.apiVersion must be client.authentication.k8s.io/v1 or v1beta1`);
  }
  const command = text_(exec['command']);
  if (command === '') fail(`${field}.command is not set`);
  if (text_(exec['interactiveMode']) === 'Always') fail(`${field}.interactiveMode Always: a node agent has no terminal`);
  const env = (Array.isArray(exec['env']) ? exec['env'] : []).map((e: unknown) => ({
    name: text_(record(e)['name']),
    value: text_(record(e)['value']),
  }));
  return {
    apiVersion,
    // A bare name is looked up in PATH, a relative path counts from the kubeconfig's folder.
    command: command.includes('/') ? resolve(base, command) : command,
    args: Array.isArray(exec['args']) ? exec['args'].map(text_) : [],
    env,
    provideClusterInfo: exec['provideClusterInfo'] === true,
    installHint: text_(exec['installHint']),
  };
}

function serverUrl(cluster: Cluster, fail: (problem: string) => never): URL {
  const text = /^https?:\/\//.test(cluster.server) ? cluster.server : `https://${cluster.server}`;
  if (!URL.canParse(text)) fail(`clusters[${cluster.name}].cluster.server is no URL`);
  return new URL(text);
}

/** Data wins over a file, as in client-go. */
function material(data: unknown, path: unknown, field: string, { base, fail }: Place): Material | undefined {
  const base64 = text_(data);
  if (base64 !== '') {
    if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(base64)) fail(`${field}-data is not base64`);
    return { data: Buffer.from(base64, 'base64') };
  }
  return text_(path) === '' ? undefined : { file: resolve(base, text_(path)) };
}

function named(list: unknown, name: string): Record<string, unknown> | undefined {
  return Array.isArray(list) ? list.map(record).find((entry) => entry['name'] === name) : undefined;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function text_(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** JSON values; objects have no prototype, whatever a key is called. */
function plain(value: Located | undefined): unknown {
  if (value === undefined) return undefined;
  if (value.kind === 'list') return value.items.map(plain);
  if (value.kind === 'scalar') return typeof value.value === 'bigint' ? Number(value.value) : value.value;
  const object = Object.create(null) as Record<string, unknown>;
  for (const [key, entry] of value.entries) object[key] = plain(entry.value);
  return object;
}
