import { constants } from 'node:crypto';
import type { SecureVersion } from 'node:tls';
import { tlsCurves } from '../config/tls-names.ts';

/** OpenSSL's names of the suites below TLS 1.3 that Go knows. */
const openSslNames: ReadonlyMap<string, string> = new Map([
  ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'ECDHE-ECDSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', 'ECDHE-ECDSA-AES128-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', 'ECDHE-ECDSA-AES256-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
  ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
  ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
  ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256', 'ECDHE-RSA-AES128-SHA256'],
  ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
  ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
  ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
  ['TLS_RSA_WITH_AES_128_CBC_SHA256', 'AES128-SHA256'],
]);

/** Not in OpenSSL 3 as it is built into Node: they are left out, and the caller says so. */
const goneSuites: ReadonlySet<string> = new Set([
  'TLS_RSA_WITH_RC4_128_SHA',
  'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
  'TLS_ECDHE_ECDSA_WITH_RC4_128_SHA',
  'TLS_ECDHE_RSA_WITH_RC4_128_SHA',
  'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA',
]);

/** TLS 1.3 suites cannot be chosen (as in Go), so they are always there. */
const tls13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];
const strong = [...openSslNames.values()].slice(0, 6);

const versions: ReadonlyMap<string, SecureVersion> = new Map([
  ['VersionTLS10', 'TLSv1'],
  ['VersionTLS11', 'TLSv1.1'],
  ['VersionTLS12', 'TLSv1.2'],
  ['VersionTLS13', 'TLSv1.3'],
]);

export interface TlsSettings {
  minVersion: SecureVersion;
  ciphers: string;
  ecdhCurve: string;
  secureOptions: number;
  honorCipherOrder: boolean;
}

export interface TlsConfig {
  /** Go's names; empty for TLS 1.2. */
  tlsMinVersion: string;
  /** Go's names; empty for the six suites with forward secrecy and authenticated encryption. */
  tlsCipherSuites: readonly string[];
  /** Numbers of IANA's registry of groups; empty for the default. */
  tlsCurvePreferences: readonly number[];
}

/** OpenSSL's form of the configured TLS settings; `dropped` are suites that this OpenSSL does not have. */
export function tlsSettings({ tlsMinVersion, tlsCipherSuites, tlsCurvePreferences }: TlsConfig): {
  settings: TlsSettings;
  dropped: string[];
} {
  const minVersion = versions.get(tlsMinVersion) ?? 'TLSv1.2';
  const chosen = tlsCipherSuites.flatMap((name) => openSslNames.get(name) ?? []);
  const suites = tlsCipherSuites.length === 0 ? strong : chosen;
  // OpenSSL refuses TLS before 1.2 at its usual security level.
  const old = minVersion === 'TLSv1' || minVersion === 'TLSv1.1';
  const curves = tlsCurvePreferences.flatMap((n) => tlsCurves.get(n) ?? []);
  return {
    settings: {
      minVersion,
      ciphers: [...tls13, ...new Set(suites), ...(old ? ['@SECLEVEL=0'] : [])].join(':'),
      ecdhCurve: curves.length === 0 ? 'auto' : curves.join(':'),
      // A resumed session would keep the client's certificate past a change of the CA. Renegotiation is only for attacks.
      secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
      honorCipherOrder: true,
    },
    dropped: tlsCipherSuites.filter((name) => goneSuites.has(name)),
  };
}
