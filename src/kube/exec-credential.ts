import { spawn } from 'node:child_process';
import type { Clock } from '../host/clock.ts';
import { Deadline } from './deadline.ts';
import { recordOf } from './errors.ts';
import type { ExecSpec } from './kubeconfig.ts';

/** What a plug-in gave. PEM texts. */
export interface ExecCredential {
  token?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  /** Wall-clock milliseconds; absent: as long as the server takes it. */
  expiresAt?: number | undefined;
}

/** Runs a program without a shell and gives its standard output. */
export type RunProgram = (command: string, args: readonly string[], env: NodeJS.ProcessEnv, signal: AbortSignal) => Promise<string>;

/** What a plug-in may be told of the cluster (`provideClusterInfo`). */
export interface ClusterInfo {
  server: string;
  'tls-server-name'?: string;
  'insecure-skip-tls-verify'?: boolean;
  'certificate-authority-data'?: string;
}

const TimeoutMs = 60_000;
const MaxOutput = 1024 * 1024;

/**
 * Credentials from a program (client.authentication.k8s.io/v1). The last ones are kept until they expire or the server
 * refuses them; callers at the same time share one run. client-node's own runner neither sends KUBERNETES_EXEC_INFO, which plug-ins
 * insist on, nor asks again after a refusal.
 */
export class ExecCredentials {
  readonly #spec: ExecSpec;
  readonly #clock: Clock;
  readonly #run: RunProgram;
  readonly #cluster: () => Promise<ClusterInfo>;
  #last: ExecCredential | undefined;
  #running: Promise<ExecCredential> | undefined;

  constructor(spec: ExecSpec, cluster: () => Promise<ClusterInfo>, clock: Clock, run: RunProgram = runProgram) {
    this.#spec = spec;
    this.#cluster = cluster;
    this.#clock = clock;
    this.#run = run;
  }

  /** The credential to use now. Rejects with an Error that names the command, never its output. */
  async get(): Promise<ExecCredential> {
    const last = this.#last;
    if (last && (last.expiresAt === undefined || last.expiresAt > this.#clock.now())) return last;
    this.#running ??= this.#fetch().finally(() => {
      this.#running = undefined;
    });
    return await this.#running;
  }

  /** The server refused the last credential. */
  forget(): void {
    this.#last = undefined;
  }

  async #fetch(): Promise<ExecCredential> {
    const { apiVersion, command, args, env, provideClusterInfo, installHint } = this.#spec;
    const info = {
      apiVersion,
      kind: 'ExecCredential',
      spec: { interactive: false, ...(provideClusterInfo ? { cluster: await this.#cluster() } : {}) },
    };
    const environment: NodeJS.ProcessEnv = { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    for (const { name, value } of env) environment[name] = value;
    using deadline = new Deadline(this.#clock, undefined, TimeoutMs);
    let output: string;
    try {
      output = await this.#run(command, args, environment, deadline.signal);
    } catch (err) {
      const reason = deadline.expired ? `took more than ${TimeoutMs / 1000} s` : err instanceof Error ? err.message : String(err);
      throw new Error(`getting credentials: exec: ${command}: ${reason}${installHint === '' ? '' : `\n${installHint}`}`, { cause: err });
    }
    this.#last = credentialOf(output, apiVersion, command);
    return this.#last;
  }
}

function credentialOf(output: string, apiVersion: string, command: string): ExecCredential {
  const fail = (problem: string): never => {
    throw new Error(`getting credentials: exec: ${command}: ${problem}`);
  };
  let parsed: unknown;
  try {
    parsed = JSON.parse(output);
  } catch {
    fail('the output is no JSON');
  }
  const object = recordOf(parsed);
  if (object?.['kind'] !== 'ExecCredential' || object['apiVersion'] !== apiVersion) {
    fail(`the output is no ExecCredential of ${apiVersion}`);
  }
  const status = recordOf(object?.['status']);
  const field = (name: string) => (typeof status?.[name] === 'string' && status[name] !== '' ? status[name] : undefined);
  const cert = field('clientCertificateData');
  const key = field('clientKeyData');
  const token = field('token');
  if ((cert === undefined) !== (key === undefined)) fail('a client certificate and its key go together');
  if (token === undefined && cert === undefined) fail('the output holds neither a token nor a client certificate');
  const expiry = field('expirationTimestamp');
  const expiresAt = expiry === undefined ? undefined : Date.parse(expiry);
  if (Number.isNaN(expiresAt)) fail('expirationTimestamp is no time');
  return { token, cert, key, expiresAt };
}

/** Standard error goes where the agent's own goes, as with the real kubelet. */
export const runProgram: RunProgram = (command, args, env, signal) =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, signal, stdio: ['ignore', 'pipe', 'inherit'] });
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= MaxOutput) chunks.push(chunk);
      else child.kill('SIGKILL');
    });
    child.once('error', reject);
    child.once('close', (code, killedBy) => {
      if (size > MaxOutput) reject(new Error(`more than ${MaxOutput} bytes of output`));
      else if (code !== 0) reject(new Error(code === null ? `ended by ${killedBy}` : `exit status ${code}`));
      else resolve(Buffer.concat(chunks).toString('utf8'));
    });
  });
