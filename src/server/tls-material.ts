import { createHash } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Clock, Timer } from '../host/clock.ts';
import { type Files, isErrno } from '../host/files.ts';
import type { Logger } from '../observe/log.ts';
import type { TlsSettings } from './tls-options.ts';

export interface TlsMaterialDeps {
  certFile: string;
  keyFile: string;
  /** The pair may be missing at first. */
  mayComeLater?: boolean;
  /** Empty: no client certificate is asked for. */
  clientCAFile: string;
  settings: TlsSettings;
  files: Pick<Files, 'read'>;
  clock: Clock;
  log: Logger;
}

/** Certificates are small; a file that is not is no certificate. */
const MAX_FILE_BYTES = 4 << 20;
/** How often the files are looked at for a change. */
const CHECK_MS = 5_000;

/** Certificate, key and client CA of a TLS listener, read again when they change. A pair that does not fit is not taken. */
export class TlsMaterial {
  readonly #deps: TlsMaterialDeps;
  #hash = '';
  #current: SecureContextOptions | undefined;
  #timer: Timer | undefined;
  #look: (() => void) | undefined;

  constructor(deps: TlsMaterialDeps) {
    this.#deps = deps;
  }

  get asksForClientCertificate(): boolean {
    return this.#deps.clientCAFile !== '';
  }

  /** Reads the files for the first time. Rejects when they cannot be used. */
  async load(): Promise<SecureContextOptions> {
    const { mayComeLater, settings, log, certFile } = this.#deps;
    try {
      await this.#read();
    } catch (err) {
      if (mayComeLater !== true || !isErrno(err, 'ENOENT')) throw err;
      log.info('There is no serving certificate yet: connections fail until one is issued', { cert: certFile });
      return settings;
    }
    if (this.#current === undefined) throw new Error(`no certificate in ${this.#deps.certFile}`);
    return this.#current;
  }

  /** Looks at the files from time to time until `signal` aborts and hands over what changed. */
  watch(changed: (options: SecureContextOptions) => void, signal: AbortSignal): void {
    const { clock, log } = this.#deps;
    const again = (): void => {
      if (signal.aborted) return;
      this.#timer = clock.after(CHECK_MS, () => void look(), true);
    };
    this.#look = () => {
      this.#timer?.cancel();
      void look();
    };
    const look = async (): Promise<void> => {
      try {
        if ((await this.#read()) && this.#current !== undefined) {
          log.info('Serving certificate or client CA changed, using the new one', { cert: this.#deps.certFile });
          changed(this.#current);
        }
      } catch (err) {
        if (this.#current !== undefined || !isErrno(err, 'ENOENT'))
          log.error(err, 'Cannot use the changed serving certificate or client CA, keeping the last one', { cert: this.#deps.certFile });
      }
      again();
    };
    signal.addEventListener('abort', () => this.#timer?.cancel(), { once: true });
    again();
  }

  /** The files were changed: they are looked at now. */
  poke(): void {
    this.#look?.();
  }

  /** True when the content differs from the last that was looked at. */
  async #read(): Promise<boolean> {
    const { certFile, keyFile, clientCAFile, settings, files } = this.#deps;
    const [cert, key, ca] = await Promise.all(
      [certFile, keyFile, clientCAFile].map((path) => (path === '' ? Promise.resolve(undefined) : files.read(path, MAX_FILE_BYTES))),
    );
    const hash = createHash('sha256');
    for (const part of [cert, key, ca]) hash.update(`${part?.length ?? 0}:`).update(part ?? '');
    const digest = hash.digest('hex');
    if (digest === this.#hash) return false;
    const options: SecureContextOptions = { ...settings, ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) };
    // A half-written pair throws here. It is looked at again when it changes again.
    this.#hash = digest;
    createSecureContext(options);
    if (ca !== undefined && !ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error(`no certificate in ${clientCAFile}`);
    this.#current = options;
    return true;
  }
}
