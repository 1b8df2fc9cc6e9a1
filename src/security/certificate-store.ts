import { createPrivateKey, X509Certificate } from 'node:crypto';
import { posix } from 'node:path';
import { type Files, isErrno } from '../host/files.ts';

/** A certificate in use. */
export interface HeldCertificate {
  /** The certificate and those above it, PEM. */
  certPem: string;
  keyPem: string;
  leaf: X509Certificate;
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?/g;
const KEY = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[\s\S]+?-----END (?:[A-Z]+ )?PRIVATE KEY-----\n?/;

export type StoreFiles = Pick<Files, 'read' | 'writeAtomic' | 'mkdir' | 'symlink' | 'rename'>;

/**
 * Certificates and keys on disk, as the real kubelet keeps them: `{pair}-{time}.pem` with the certificate and its key, and
 * the link `{pair}-current.pem` to the one in use. Source: contract node.md §11.
 */
export class CertificateStore {
  readonly #dir: string;
  readonly #pair: string;
  readonly #files: StoreFiles;

  constructor(dir: string, pair: string, files: StoreFiles) {
    this.#dir = dir;
    this.#pair = pair;
    this.#files = files;
  }

  /** What stands for the certificate in use, whichever that is. */
  get currentPath(): string {
    return posix.join(this.#dir, `${this.#pair}-current.pem`);
  }

  /** The one in use; undefined when there is none. Rejects when what is there is no pair, naming the file. */
  async current(): Promise<HeldCertificate | undefined> {
    let text: string;
    try {
      text = (await this.#files.read(this.currentPath)).toString('utf8');
    } catch (err) {
      if (isErrno(err, 'ENOENT')) return undefined;
      throw err;
    }
    try {
      return heldCertificate(text);
    } catch (err) {
      const why = err instanceof Error ? err.message : String(err);
      throw new Error(`${this.currentPath} cannot be used: ${why}; remove it to ask for a new certificate`, { cause: err });
    }
  }

  /** Stores a new pair and puts it in use in one step. `now` is wall-clock milliseconds. */
  async update(certPem: string, keyPem: string, now: number): Promise<HeldCertificate> {
    const held = heldCertificate(`${certPem.trimEnd()}\n${keyPem.trimEnd()}\n`);
    const time = new Date(now).toISOString().slice(0, 19).replaceAll(/[T:]/g, '-');
    const file = posix.join(this.#dir, `${this.#pair}-${time}.pem`);
    await this.#files.mkdir(this.#dir, 0o755);
    await this.#files.writeAtomic(file, `${held.certPem.trimEnd()}\n${held.keyPem.trimEnd()}\n`, 0o600);
    // Whoever reads the link meanwhile finds the old pair or the new one.
    await this.#files.symlink(file, `${this.currentPath}.new`);
    await this.#files.rename(`${this.currentPath}.new`, this.currentPath);
    return held;
  }
}

/** Reads a certificate and its key out of PEM text. Throws when one is missing or they do not belong together. */
export function heldCertificate(text: string): HeldCertificate {
  const certificates = text.match(CERTIFICATE) ?? [];
  const keyPem = KEY.exec(text)?.[0];
  if (certificates[0] === undefined) throw new Error('there is no certificate in it');
  if (keyPem === undefined) throw new Error('there is no private key in it');
  const leaf = new X509Certificate(certificates[0]);
  if (!leaf.checkPrivateKey(createPrivateKey(keyPem))) throw new Error('the key is not that of the certificate');
  return { certPem: certificates.join(''), keyPem, leaf };
}
