import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import test from 'node:test';
import * as der from './der.ts';
import { selfSigned } from './self-signed.ts';
import { servingFiles } from './serving-files.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5);

test('the certificate is one that a strict reader takes: names, times, signature, key', async () => {
  const { certPem, keyPem } = await selfSigned({ host: 'node-1', alternatives: ['10.0.0.7', 'fd00::1:2', '::ffff:1.2.3.4'], now });
  const [leafPem = '', caPem = ''] = certPem.split(/(?<=-----END CERTIFICATE-----\n)/);
  const leaf = new X509Certificate(leafPem);
  const ca = new X509Certificate(caPem);
  assert.equal(leaf.subject, `CN=node-1@${now / 1000}`);
  assert.equal(leaf.issuer, `CN=node-1-ca@${now / 1000}`);
  assert.equal(leaf.subjectAltName, 'DNS:node-1, IP Address:10.0.0.7, IP Address:FD00:0:0:0:0:0:1:2, IP Address:0:0:0:0:0:FFFF:102:304');
  assert.equal(leaf.validFromDate.getTime(), now - 3_600_000);
  assert.equal(leaf.validToDate.getTime(), now - 3_600_000 + 365 * 24 * 3_600_000);
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  assert.equal(leaf.ca, false);
  assert.equal(ca.ca, true);
  assert.ok(leaf.verify(ca.publicKey));
  assert.ok(ca.verify(ca.publicKey));
  assert.ok(leaf.checkIssued(ca));
  assert.ok(leaf.checkPrivateKey(createPrivateKey(keyPem)));
});

test('DER: long lengths, large arcs, times beyond 2049', () => {
  assert.equal(der.tlv(4, Buffer.alloc(200)).subarray(0, 3).toString('hex'), '0481c8');
  assert.equal(der.tlv(4, Buffer.alloc(70_000)).subarray(0, 5).toString('hex'), '0483011170');
  assert.equal(der.oid('1.2.840.113549.1.1.11').toString('hex'), '06092a864886f70d01010b');
  assert.equal(der.integer(Buffer.from([0, 0, 0x80])).toString('hex'), '02020080');
  assert.equal(der.time(Date.UTC(2049, 11, 31, 23, 59, 59)).toString('latin1', 2), '491231235959Z');
  assert.equal(der.time(Date.UTC(2050, 0, 1)).toString('latin1', 2), '20500101000000Z');
});

function memoryFiles(content: Map<string, string>) {
  const modes = new Map<string, number>();
  return {
    modes,
    async read(path: string) {
      const text = content.get(path);
      if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
      return Buffer.from(text);
    },
    async mkdir() {},
    async writeAtomic(path: string, data: string | Uint8Array, mode: number) {
      content.set(path, data.toString());
      modes.set(path, mode);
    },
  };
}

const input = { tlsCertFile: '', tlsPrivateKeyFile: '', certDir: '/pki', host: 'n', addresses: [], now };

test('files: configured ones are taken as they are, own ones are made once, half a pair is refused', async () => {
  const content = new Map<string, string>();
  const files = memoryFiles(content);
  assert.deepEqual(await servingFiles({ ...input, tlsCertFile: '/a', tlsPrivateKeyFile: '/b' }, files), { certFile: '/a', keyFile: '/b' });
  assert.equal(content.size, 0);
  assert.deepEqual(await servingFiles(input, files), { certFile: '/pki/kubelet.crt', keyFile: '/pki/kubelet.key' });
  assert.equal(files.modes.get('/pki/kubelet.key'), 0o600);
  const made = content.get('/pki/kubelet.crt');
  await servingFiles(input, files);
  assert.equal(content.get('/pki/kubelet.crt'), made);
  content.delete('/pki/kubelet.key');
  await assert.rejects(servingFiles(input, files), /kubelet\.crt is there and .*kubelet\.key is not/);
});
