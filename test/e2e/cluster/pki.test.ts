import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { run } from '../../../scripts/node/run.ts';
import { newAuthority, newKeyPair } from './pki.ts';

test('certificates hold what was asked for and verify by their authority', async () => {
  const ca = await newAuthority('test authority');
  const server = new X509Certificate((await ca.server('api', ['localhost', '127.0.0.1', '10.96.0.1'])).certPem);
  const { certPem, keyPem } = await ca.client({ commonName: 'system:node:a', organizations: ['system:nodes'] });
  const client = new X509Certificate(certPem);
  const authority = new X509Certificate(ca.certPem);
  assert.ok(authority.ca && !client.ca && !server.ca);
  assert.equal(client.subject, 'O=system:nodes\nCN=system:node:a');
  assert.ok(client.checkPrivateKey(createPrivateKey(keyPem)));
  for (const certificate of [authority, server, client]) assert.ok(certificate.verify(authority.publicKey));
  assert.equal(server.checkIP('10.96.0.1'), '10.96.0.1');
  assert.equal(server.checkHost('localhost'), 'localhost');
  assert.equal(server.checkIP('10.96.0.2'), undefined);
  assert.ok(Date.parse(client.validFrom) < Date.now() && Date.parse(client.validTo) > Date.now());
  assert.ok(!client.verify(new X509Certificate((await newAuthority('other')).certPem).publicKey));
});

test('openssl takes them for their purposes only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kts-pki-'));
  try {
    const ca = await newAuthority('test authority');
    const write = async (name: string, text: string) => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };
    const authority = await write('ca', ca.certPem);
    const client = await write('client', (await ca.client({ commonName: 'c' })).certPem);
    const server = await write('server', (await ca.server('s', ['s'])).certPem);
    const verify = async (purpose: string, file: string) =>
      (await run('openssl', ['verify', '-CAfile', authority, '-purpose', purpose, file])).code;
    assert.equal(await verify('sslclient', client), 0);
    assert.equal(await verify('sslserver', server), 0);
    assert.notEqual(await verify('sslserver', client), 0);
    assert.notEqual(await verify('sslclient', server), 0);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a key pair belongs together', async () => {
  const { privatePem, publicPem } = await newKeyPair();
  assert.equal(createPublicKey(createPrivateKey(privatePem)).export({ type: 'spki', format: 'pem' }), publicPem);
});
