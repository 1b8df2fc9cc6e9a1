import assert from 'node:assert/strict';
import test from 'node:test';
import { createSecureContext } from 'node:tls';
import { tlsCipherSuites, tlsCurves } from '../config/tls-names.ts';
import { tlsSettings } from './tls-options.ts';

test('nothing configured: TLS 1.2 and the strong suites', () => {
  const { settings, dropped } = tlsSettings({ tlsMinVersion: '', tlsCipherSuites: [], tlsCurvePreferences: [] });
  assert.equal(settings.minVersion, 'TLSv1.2');
  assert.equal(settings.ciphers.split(':').length, 9);
  assert.ok(settings.ciphers.split(':').every((c) => /GCM|CHACHA20/.test(c)));
  assert.equal(settings.ecdhCurve, 'auto');
  assert.deepEqual(dropped, []);
});

test('every suite and curve that the configuration takes makes a context, or is named as missing', () => {
  for (const name of tlsCipherSuites) {
    const { settings, dropped } = tlsSettings({ tlsMinVersion: 'VersionTLS12', tlsCipherSuites: [name], tlsCurvePreferences: [] });
    assert.doesNotThrow(() => createSecureContext(settings), name);
    const known = settings.ciphers.split(':').length === 4 || name.startsWith('TLS_AES_') || name === 'TLS_CHACHA20_POLY1305_SHA256';
    assert.ok(known || dropped.includes(name), name);
  }
  for (const number of tlsCurves.keys()) {
    const { settings } = tlsSettings({ tlsMinVersion: 'VersionTLS13', tlsCipherSuites: [], tlsCurvePreferences: [number] });
    assert.doesNotThrow(() => createSecureContext(settings), String(number));
  }
});

test('old versions lower the security level, which they need; order of suites and curves is kept', () => {
  const { settings } = tlsSettings({
    tlsMinVersion: 'VersionTLS10',
    tlsCipherSuites: ['TLS_RSA_WITH_AES_256_CBC_SHA', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_RSA_WITH_RC4_128_SHA'],
    tlsCurvePreferences: [24, 29],
  });
  assert.equal(settings.minVersion, 'TLSv1');
  assert.match(settings.ciphers, /:AES256-SHA:ECDHE-RSA-AES128-GCM-SHA256:@SECLEVEL=0$/);
  assert.equal(settings.ecdhCurve, 'P-384:X25519');
});
