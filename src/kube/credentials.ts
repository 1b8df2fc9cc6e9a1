import { createSecureContext } from 'node:tls';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { Logger } from '../observe/log.ts';
import { type ClusterInfo, ExecCredentials, type RunProgram } from './exec-credential.ts';
import type { AuthHeaders } from './http-client.ts';
import { type KubeconfigContext, KubeconfigError, type Material, parseKubeconfig } from './kubeconfig.ts';
import type { TlsIdentity } from './node-transport.ts';

export interface CredentialsDeps {
  files: Pick<Files, 'read'>;
  clock: Clock;
  log: Logger;
  /** For exec plug-ins; default: child processes. */
  run?: RunProgram;
}

/** Files that may be replaced are looked at when a request comes and so much time has passed. */
const RereadMs = 10_000;

/**
 * Who the agent is to the API server. Files (certificate, key, authority, token) are read again as they change; a pair
 * that does not fit, as in the middle of a rotation, is left aside and the last good one stays.
 */
export class Credentials implements AuthHeaders {
  readonly server: URL;
  readonly #context: KubeconfigContext;
  readonly #deps: CredentialsDeps;
  readonly #exec: ExecCredentials | undefined;
  #identity: TlsIdentity;
  #token: string | undefined;
  #readAt: number;
  #reading: Promise<void> | undefined;
  #lastFault = '';
  #replaced: { cert: Buffer; key: Buffer } | undefined;

  private constructor(context: KubeconfigContext, deps: CredentialsDeps, identity: TlsIdentity, token: string | undefined) {
    this.server = context.server;
    this.#context = context;
    this.#deps = deps;
    this.#identity = identity;
    this.#token = token;
    this.#readAt = deps.clock.monotonic();
    if (context.exec) this.#exec = new ExecCredentials(context.exec, () => Promise.resolve(this.#clusterInfo()), deps.clock, deps.run);
  }

  /** Reads the kubeconfig and every file it names. Rejects with KubeconfigError, which names the file and never a value. */
  static async load(path: string, deps: CredentialsDeps): Promise<Credentials> {
    let text: Buffer;
    try {
      text = await deps.files.read(path);
    } catch (err) {
      throw new KubeconfigError(path, `cannot be read: ${systemReason(err)}`);
    }
    const context = parseKubeconfig(text, path);
    try {
      const [identity, token] = await Promise.all([readIdentity(context, deps.files), readToken(context, deps.files)]);
      return new Credentials(context, deps, identity, token);
    } catch (err) {
      throw new KubeconfigError(path, err instanceof Error ? err.message : String(err));
    }
  }

  /** Takes this client certificate in place of the kubeconfig's, from the next request on: after a rotation. */
  useCertificate(certPem: string, keyPem: string): void {
    this.#replaced = { cert: Buffer.from(certPem), key: Buffer.from(keyPem) };
  }

  /** What the next connection is made with: the same object as long as nothing changed. */
  async identity(): Promise<TlsIdentity> {
    await this.#refresh();
    if (this.#replaced !== undefined) {
      const replaced = { ...this.#identity, ...this.#replaced };
      if (!same(this.#identity, replaced)) this.#identity = replaced;
    }
    const exec = await this.#exec?.get();
    if (exec?.cert !== undefined && exec.key !== undefined) {
      const cert = Buffer.from(exec.cert);
      const key = Buffer.from(exec.key);
      if (!same(this.#identity, { ...this.#identity, cert, key })) this.#identity = { ...this.#identity, cert, key };
    }
    return this.#identity;
  }

  async headers(signal: AbortSignal): Promise<Record<string, string>> {
    await this.#refresh();
    const { basic, impersonate } = this.#context;
    const headers: Record<string, string> = {};
    if (impersonate !== undefined) headers['impersonate-user'] = impersonate;
    const token = (await this.#exec?.get())?.token ?? this.#token;
    signal.throwIfAborted();
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
    else if (basic) headers['authorization'] = `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`;
    return headers;
  }

  rejected(): boolean {
    const { token } = this.#context;
    this.#exec?.forget();
    if (token && 'file' in token) this.#readAt = Number.NEGATIVE_INFINITY;
    return this.#exec !== undefined || (token !== undefined && 'file' in token);
  }

  /** Looks at the files at the next request, without waiting for its time: after a rotation. */
  reread(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  async #refresh(): Promise<void> {
    const now = this.#deps.clock.monotonic();
    if (now - this.#readAt < RereadMs) return;
    this.#reading ??= this.#read().finally(() => {
      this.#readAt = this.#deps.clock.monotonic();
      this.#reading = undefined;
    });
    await this.#reading;
  }

  async #read(): Promise<void> {
    const { files, log } = this.#deps;
    try {
      const identity = await readIdentity(this.#context, files);
      const next = { ...identity, ...this.#replaced };
      if (!this.#exec && !same(next, this.#identity)) this.#identity = next;
      this.#token = await readToken(this.#context, files);
      this.#lastFault = '';
    } catch (err) {
      const fault = err instanceof Error ? err.message : String(err);
      if (fault !== this.#lastFault)
        log.warn('Could not read the credentials for the API server again, the last ones stay', { reason: fault });
      this.#lastFault = fault;
    }
  }

  #clusterInfo(): ClusterInfo {
    const { server, insecure, serverName } = this.#context;
    const ca = this.#identity.ca;
    return {
      server: server.href.replace(/\/$/, ''),
      ...(serverName === undefined ? {} : { 'tls-server-name': serverName }),
      ...(insecure ? { 'insecure-skip-tls-verify': true } : {}),
      ...(ca ? { 'certificate-authority-data': ca.toString('base64') } : {}),
    };
  }
}

async function readIdentity(context: KubeconfigContext, files: Pick<Files, 'read'>): Promise<TlsIdentity> {
  const { insecure, serverName } = context;
  const [ca, cert, key] = await Promise.all([context.ca, context.cert, context.key].map((material) => bytesOf(material, files)));
  try {
    createSecureContext({ ...(ca ? { ca } : {}), ...(cert ? { cert } : {}), ...(key ? { key } : {}) });
  } catch (err) {
    throw new Error(`the client certificate, its key or the authority cannot be used: ${err instanceof Error ? err.message : String(err)}`);
  }
  return { ca, cert, key, serverName, insecure };
}

async function readToken({ token }: KubeconfigContext, files: Pick<Files, 'read'>): Promise<string | undefined> {
  const text = (await bytesOf(token, files))?.toString('utf8').trim();
  if (text === '') throw new Error('the token file is empty');
  // What is no header value would fail in a message that quotes it.
  if (text !== undefined && !/^[\x21-\x7e]+$/.test(text)) throw new Error('the token holds characters that a token cannot hold');
  return text;
}

async function bytesOf(material: Material | undefined, files: Pick<Files, 'read'>): Promise<Buffer | undefined> {
  if (material === undefined) return undefined;
  if ('data' in material) return material.data;
  try {
    return await files.read(material.file);
  } catch (err) {
    throw new Error(`${material.file} cannot be read: ${systemReason(err)}`);
  }
}

function systemReason(err: unknown): string {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : 'unknown error';
}

function same(a: TlsIdentity, b: TlsIdentity): boolean {
  const equal = (x: Buffer | undefined, y: Buffer | undefined) => (x && y ? x.equals(y) : x === y);
  return equal(a.ca, b.ca) && equal(a.cert, b.cert) && equal(a.key, b.key);
}
