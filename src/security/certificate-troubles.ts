import type { CertificateTrouble } from './certificate-manager.ts';

/** Condition of a node whose certificate is not issued; only there once that has happened. */
export const CertificateNotIssued = 'CertificateNotIssued';

export interface TroubleCondition {
  type: string;
  status: 'True' | 'False';
  reason: string;
  message: string;
}

/**
 * What keeps the node's certificates from being issued, for its conditions and events: a request that is denied or that
 * nobody signs would else be seen only when the certificate in use ends.
 */
export class CertificateTroubles {
  readonly #event: (reason: string, message: string) => void;
  readonly #troubles = new Map<string, CertificateTrouble>();
  #everHad = false;

  /** `event` takes a warning about the node. */
  constructor(event: (reason: string, message: string) => void) {
    this.#event = event;
  }

  /** `kind` is `client` or `serving`. The same trouble again is no news. */
  note(kind: string, trouble: CertificateTrouble | undefined): void {
    const before = this.#troubles.get(kind);
    if (trouble === undefined) {
      this.#troubles.delete(kind);
      return;
    }
    this.#everHad = true;
    this.#troubles.set(kind, trouble);
    if (before?.reason !== trouble.reason)
      this.#event(`Certificate${trouble.reason}`, `The ${kind} certificate was not issued: ${trouble.message}`);
  }

  conditions(): readonly TroubleCondition[] {
    if (!this.#everHad) return [];
    const [first] = this.#troubles;
    if (first === undefined)
      return [
        {
          type: CertificateNotIssued,
          status: 'False',
          reason: 'CertificatesIssued',
          message: 'all certificates that were asked for were issued',
        },
      ];
    const message = [...this.#troubles].map(([kind, trouble]) => `${kind} certificate: ${trouble.message}`).join('; ');
    return [{ type: CertificateNotIssued, status: 'True', reason: first[1].reason, message }];
  }
}
