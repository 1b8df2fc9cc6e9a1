import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import { ProgramError, type ProgramRun } from '../host/run-program.ts';
import { Deadline } from '../kube/deadline.ts';
import type { Logger } from '../observe/log.ts';
import { CredentialProvider, type ServiceAccountPort } from './credential-provider.ts';
import { type ConfigFile, type ProviderConfig, ProviderConfigError, readProviderConfigs } from './provider-config.ts';
import { ProviderKeyring } from './provider-keyring.ts';
import { type ProviderRequest, type ProviderResponse, readResponse, requestJson } from './provider-protocol.ts';

const TimeoutMs = 60_000;
const MaxOutput = 1024 * 1024;
/** Of what a failed plug-in said, in the log. */
const MaxShown = 1000;
const ConfigFlag = '--image-credential-provider-config';
const BinDirFlag = '--image-credential-provider-bin-dir';

export interface ProviderMetrics {
  /** kubelet_credential_provider_plugin_duration and _errors_total. */
  pluginRan(plugin: string, seconds: number, failed: boolean): void;
  /** kubelet_credential_provider_config_info. */
  configRead(hash: string): void;
}

export interface OpenProvidersDeps {
  /** --image-credential-provider-config: a file or a directory of files. */
  config: string;
  /** --image-credential-provider-bin-dir */
  binDir: string;
  /** KubeletServiceAccountTokenForCredentialProviders */
  tokensEnabled: boolean;
  accounts: ServiceAccountPort | undefined;
  files: Pick<Files, 'read' | 'list' | 'stat'>;
  /** The agent's own: a plug-in gets it, and what its configuration adds. */
  env: Readonly<Record<string, string | undefined>>;
  run(program: ProgramRun): Promise<string>;
  clock: Pick<Clock, 'monotonic' | 'after'>;
  log: Logger;
  metrics: ProviderMetrics;
}

/** The plug-ins of the two flags. Rejects with an Error that names the flag when they cannot be used. */
export async function openProviders(deps: OpenProvidersDeps): Promise<ProviderKeyring> {
  const { config, files, metrics, log, tokensEnabled, accounts, clock } = deps;
  const found = await configFiles(config, files);
  let configs: ProviderConfig[];
  try {
    configs = readProviderConfigs(found, tokensEnabled);
  } catch (err) {
    if (!(err instanceof ProviderConfigError)) throw err;
    throw new Error(`${ConfigFlag}: ${err.message}`, { cause: err });
  }
  const providers: CredentialProvider[] = [];
  for (const provider of configs) {
    const program = await programOf(provider.name, deps);
    const ask = (request: ProviderRequest) => askProgram(program, provider, request, deps);
    providers.push(new CredentialProvider({ config: provider, ask, accounts, clock }));
    log.debug(4, 'Registered credential provider', { provider: provider.name });
  }
  metrics.configRead(hashOf(found));
  return new ProviderKeyring(providers, log);
}

/** Of a directory its .json, .yaml and .yml files by name; nothing below it. */
async function configFiles(path: string, files: OpenProvidersDeps['files']): Promise<ConfigFile[]> {
  try {
    const info = await files.stat(path);
    if (info === undefined) throw new Error('it does not exist');
    if (info.kind !== 'directory') return [{ path, data: await files.read(path) }];
    const names = (await files.list(path)).filter(({ name, kind }) => kind !== 'directory' && /\.(json|yaml|yml)$/.test(name));
    if (names.length === 0) throw new Error('the directory holds no .json, .yaml or .yml file');
    const paths = names.map(({ name }) => posix.join(path, name)).sort();
    return await Promise.all(paths.map(async (file) => ({ path: file, data: await files.read(file) })));
  } catch (err) {
    throw new Error(`${ConfigFlag}: ${path}: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
  }
}

async function programOf(name: string, { binDir, files }: OpenProvidersDeps): Promise<string> {
  const directory = await files.stat(binDir);
  if (directory?.kind !== 'directory') throw new Error(`${BinDirFlag}: ${binDir}: it is no directory`);
  const path = posix.join(binDir, name);
  const info = await files.stat(path);
  if (info?.kind !== 'file') throw new Error(`${BinDirFlag}: ${path}: there is no such file`);
  if ((info.mode & 0o111) === 0) throw new Error(`${BinDirFlag}: ${path}: it is not executable`);
  return path;
}

/** One run. Rejects with an Error that says what was wrong, and what the plug-in said of it. */
async function askProgram(
  file: string,
  config: ProviderConfig,
  request: ProviderRequest,
  deps: OpenProvidersDeps,
): Promise<ProviderResponse> {
  const { clock, metrics, run } = deps;
  const env: Record<string, string | undefined> = { ...deps.env };
  for (const { name, value } of config.env) env[name] = value;
  const input = requestJson(config.apiVersion, request);
  const started = clock.monotonic();
  let failed = true;
  let output: string;
  using deadline = new Deadline(clock, undefined, TimeoutMs);
  try {
    output = await run({ file, args: config.args, env, input, maxOutput: MaxOutput, signal: deadline.signal });
    failed = false;
  } catch (err) {
    const said = err instanceof ProgramError ? err.stderr.slice(0, MaxShown).trim() : '';
    const reason = deadline.expired ? `took more than ${TimeoutMs / 1000} s` : err instanceof Error ? err.message : String(err);
    throw new Error(`credential provider plug-in ${config.name}: ${reason}${said === '' ? '' : `: ${said}`}`, { cause: err });
  } finally {
    metrics.pluginRan(config.name, (clock.monotonic() - started) / 1000, failed);
  }
  return readResponse(output, config.apiVersion);
}

/** Of all files, each with its length before it, so that no two sets of files give the same. */
function hashOf(files: readonly ConfigFile[]): string {
  const hash = createHash('sha256');
  for (const { data } of files) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(data.byteLength));
    hash.update(length).update(data);
  }
  return `sha256:${hash.digest('hex')}`;
}
