import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cisResults } from './cis-checks.ts';
import { hostRoot } from './host-root.ts';
import { configValues, flagsOf, readNodeRoot, serviceArguments } from './node-root.ts';

const project = resolve(import.meta.dirname, '../..');

describe('the arguments of a kubelet', () => {
  it('come from its unit, drop-ins and environment files, the last ExecStart winning', async () => {
    const files = new Map([
      ['/var/lib/kubelet/kubeadm-flags.env', 'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///x --node-labels=a=b"\n'],
      ['/etc/default/kubelet', '# nothing\nKUBELET_EXTRA_ARGS=--read-only-port=10255\n'],
    ]);
    const unit = '[Service]\nExecStart=/usr/bin/kubelet\n';
    const dropIn = `[Service]
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet --kubeconfig=/k \\
  $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS \${KUBELET_EXTRA_ARGS} $UNSET
`;
    const args = await serviceArguments([unit, dropIn], { read: (path) => Promise.resolve(files.get(path)) });
    assert.deepEqual(args, [
      '--kubeconfig=/k',
      '--config=/var/lib/kubelet/config.yaml',
      '--container-runtime-endpoint=unix:///x',
      '--node-labels=a=b',
      '--read-only-port=10255',
    ]);
  });

  it('are read in every form', () => {
    const flags = flagsOf(['--a=1', '--b', '2', '--c', '--d', '-e=x=y']);
    assert.deepEqual(
      [...flags],
      [
        ['a', '1'],
        ['b', '2'],
        ['c', 'true'],
        ['d', 'true'],
        ['e', 'x=y'],
      ],
    );
  });
});

it('a configuration is read by path, lists too', () => {
  const values = configValues('authentication:\n  anonymous: { enabled: no }\ntlsCipherSuites: [A, B]\n');
  assert.equal(values?.get('authentication.anonymous.enabled'), 'false');
  assert.deepEqual(values?.get('tlsCipherSuites'), ['A', 'B']);
  assert.equal(configValues('just text'), undefined);
});

/** What breaks each check on a root that install.sh laid out. */
const BREAKS: Readonly<Record<string, (root: string) => void>> = {
  '4.1.1': (root) => chmodSync(join(root, 'etc/systemd/system/kubelet.service'), 0o644),
  '4.1.2': (root) => chownSync(join(root, 'etc/systemd/system/kubelet.service'), 1, 0),
  '4.1.3': (root) => write(root, 'etc/kubernetes/proxy.conf', '', 0o644),
  '4.1.4': (root) => chownSync(write(root, 'etc/kubernetes/proxy.conf', '', 0o600), 0, 1),
  '4.1.5': (root) => write(root, 'etc/kubernetes/kubelet.conf', '', 0o640),
  '4.1.6': (root) => chownSync(write(root, 'etc/kubernetes/kubelet.conf', '', 0o600), 2, 2),
  '4.1.7': (root) => write(root, 'etc/kubernetes/pki/ca.crt', '', 0o666),
  '4.1.8': (root) => chownSync(write(root, 'etc/kubernetes/pki/ca.crt', '', 0o644), 1, 1),
  '4.1.9': (root) => chmodSync(join(root, CONFIG), 0o644),
  '4.1.10': (root) => chownSync(join(root, CONFIG), 0, 3),
  '4.2.1': (root) => edit(root, CONFIG, 'anonymous: { enabled: false }', 'anonymous: { enabled: true }'),
  '4.2.2': (root) => edit(root, CONFIG, 'mode: Webhook', 'mode: AlwaysAllow'),
  '4.2.3': (root) => edit(root, CONFIG, /x509: .*/, 'x509: {}'),
  '4.2.4': (root) => edit(root, CONFIG, 'readOnlyPort: 0', 'readOnlyPort: 10255'),
  '4.2.5': (root) => edit(root, CONFIG, 'streamingConnectionIdleTimeout: 4h', 'streamingConnectionIdleTimeout: 0s'),
  '4.2.6': (root) => edit(root, CONFIG, 'makeIPTablesUtilChains: true', 'makeIPTablesUtilChains: false'),
  '4.2.7': (root) => edit(root, 'etc/systemd/system/kubelet.service', /(ExecStart=.*)/, '$1 --hostname-override=other'),
  '4.2.8': (root) => edit(root, CONFIG, 'eventRecordQPS: 50', 'eventRecordQPS: -1'),
  '4.2.9': (root) => edit(root, CONFIG, 'serverTLSBootstrap: true', 'serverTLSBootstrap: false'),
  '4.2.10': (root) => edit(root, CONFIG, 'rotateCertificates: true', 'rotateCertificates: false'),
  '4.2.11': (root) => edit(root, CONFIG, 'readOnlyPort: 0', 'featureGates: { RotateKubeletServerCertificate: false }\nreadOnlyPort: 0'),
  '4.2.12': (root) => edit(root, CONFIG, 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'TLS_RSA_WITH_AES_128_CBC_SHA'),
  '4.2.13': (root) => edit(root, CONFIG, 'podPidsLimit: 4096', 'podPidsLimit: -1'),
  '4.2.14': (root) => edit(root, CONFIG, 'seccompDefault: true', 'seccompDefault: false'),
};
const CONFIG = 'var/lib/kubelet/config.yaml';

function write(root: string, path: string, text: string, mode: number): string {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  chmodSync(join(root, path), mode);
  return join(root, path);
}

function edit(root: string, path: string, from: string | RegExp, to: string): void {
  const before = readFileSync(join(root, path), 'utf8');
  const text = before.replace(from, to);
  assert.notEqual(text, before, `${path} holds ${from}`);
  writeFileSync(join(root, path), text);
}

// Owners cannot be given away without root.
describe('doctor --cis on what install.sh lays out', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'doctor-'));
    // A project as it is once built; what is in dist does not matter here.
    for (const part of ['deploy', 'bin']) execFileSync('cp', ['-R', join(project, part), folder]);
    write(folder, 'dist/kubelet-ts.mjs', '// built', 0o644);
    write(folder, 'node', '#!/bin/sh\necho v24.0.0\n', 0o755);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const install = (name: string) => {
    const root = join(folder, 'roots', name);
    execFileSync(join(folder, 'deploy/systemd/install.sh'), ['--root', root]);
    return root;
  };
  const failures = async (root: string) => cisResults(await readNodeRoot(hostRoot(root))).filter((r) => r.outcome === 'fail');

  it('finds nothing to mend', async () => {
    const root = install('good');
    const results = cisResults(await readNodeRoot(hostRoot(root)));
    assert.equal(results.length, 24);
    assert.deepEqual(
      results.filter((r) => r.outcome === 'fail'),
      [],
    );
    assert.deepEqual(
      results.filter((r) => r.outcome === 'absent').map((r) => r.id),
      ['4.1.3', '4.1.4', '4.1.5', '4.1.6', '4.1.7', '4.1.8'],
      'no proxy, and what the control plane brings is not there yet',
    );
    for (const [path, text] of [
      ['etc/kubernetes/kubelet.conf', 'x'],
      ['etc/kubernetes/pki/ca.crt', 'x'],
      ['etc/kubernetes/proxy.conf', 'x'],
    ] as const)
      write(root, path, text, 0o600);
    assert.ok(cisResults(await readNodeRoot(hostRoot(root))).every((r) => r.outcome === 'pass'));
  });

  for (const [id, breakIt] of Object.entries(BREAKS)) {
    it(`${id} fails where it is broken, alone and with a remedy`, async () => {
      const root = install(id);
      breakIt(root);
      const failed = await failures(root);
      assert.deepEqual(
        failed.map((r) => r.id),
        [id],
      );
      assert.notEqual(failed[0]?.remedy, '');
    });
  }

  it('has a way to break every check', async () => {
    assert.deepEqual(
      Object.keys(BREAKS).sort(),
      cisResults(await readNodeRoot(hostRoot(folder)))
        .map((r) => r.id)
        .sort(),
    );
  });

  it('a second installation keeps the configuration, and uninstall.sh keeps what is not ours', () => {
    const root = install('twice');
    writeFileSync(join(root, CONFIG), 'mine');
    execFileSync(join(folder, 'deploy/systemd/install.sh'), [`--root=${root}`]);
    assert.equal(readFileSync(join(root, CONFIG), 'utf8'), 'mine');
    execFileSync(join(folder, 'deploy/systemd/uninstall.sh'), ['--root', root]);
    assert.equal(readFileSync(join(root, CONFIG), 'utf8'), 'mine');
    for (const gone of ['opt/kubelet-ts', 'usr/bin/kubelet', 'etc/systemd/system/kubelet.service'])
      assert.ok(!existsSync(join(root, gone)), gone);
  });
});
