import assert from 'node:assert/strict';
import test from 'node:test';
import { type ContainerdSettings, cniConfig, containerdConfig, parseContainerdVersion } from './containerdConfig.ts';

const settings: ContainerdSettings = {
  version: { major: 1, minor: 6 },
  root: '/w/root',
  state: '/r/state',
  socket: '/r/c.sock',
  pauseImage: 'registry.local/pause:1',
  cniBinDir: '/usr/lib/cni',
  cniConfDir: '/w/cni',
  registryDir: '',
  restrictOomScoreAdj: true,
  snapshotter: 'overlayfs',
};

test('versions of distributions and of releases are read', () => {
  assert.deepEqual(parseContainerdVersion('containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3\n'), {
    major: 1,
    minor: 6,
  });
  assert.deepEqual(parseContainerdVersion('containerd github.com/containerd/containerd/v2 v2.1.4 75cb2b7193e4'), { major: 2, minor: 1 });
  assert.equal(parseContainerdVersion('containerd unknown'), undefined);
});

test('1.x gets configuration version 2, 2.x version 3 with the name of the setting of its minor version', () => {
  const v1 = containerdConfig(settings);
  assert.match(v1, /^version = 2$/m);
  assert.match(v1, /sandbox_image = "registry.local\/pause:1"/);
  const v20 = containerdConfig({ ...settings, version: { major: 2, minor: 0 } });
  assert.match(v20, /^version = 3$/m);
  assert.match(v20, /sandbox = "registry.local\/pause:1"/);
  assert.match(v20, /^ +bin_dir = "\/usr\/lib\/cni"$/m);
  assert.match(containerdConfig({ ...settings, version: { major: 2, minor: 1 } }), /^ +bin_dirs = \["\/usr\/lib\/cni"\]$/m);
});

test('everything lies in the folders given, and names are quoted', () => {
  const odd = { ...settings, root: '/w "x"/root' };
  for (const version of [settings.version, { major: 2, minor: 1 }]) {
    const text = containerdConfig({ ...odd, version });
    assert.match(text, /^root = "\/w \\"x\\"\/root"$/m);
    assert.match(text, /restrict_oom_score_adj = true/);
    assert.match(text, /netns_mounts_under_state_dir = true/);
    assert.match(text, /Root = "\/r\/state\/runc"/);
    assert.doesNotMatch(text, /\/run\/containerd|\/var\/lib/);
  }
});

test('the network leaves port mappings out where iptables do not work', () => {
  const options = { network: 'kts0', bridge: 'kts0', subnet: '10.213.0.0/22', dataDir: '/w/data' };
  const types = (portMappings: boolean) =>
    (JSON.parse(cniConfig({ ...options, portMappings })) as { plugins: { type: string }[] }).plugins.map((p) => p.type);
  assert.deepEqual(types(true), ['bridge', 'portmap']);
  assert.deepEqual(types(false), ['bridge']);
});
