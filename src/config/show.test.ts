import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toJsonForm } from './defaults.ts';
import { ConfigBuilder, loadKubelet } from './load.ts';
import { formatOrigin } from './origin.ts';
import { readConfigData } from './read-file.ts';
import { configYaml } from './show.ts';
import { header, memoryIo, standalone } from './test-io.ts';

const text = `${header}${standalone}evictionHard: {memory.available: 5%}
registerWithTaints: [{key: a, value: "no", effect: NoSchedule}, {key: b}]
reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]
staticPodURLHeader: {Authorization: [Bearer abc]}
clusterDNS: [10.0.0.1, "fd00::1"]
clusterDomain: "y"
`;

test('what is shown can be read back and is the same', async () => {
  const { config } = await loadKubelet(['--config=f'], memoryIo({ '/cfg/f': text }));
  const again = new ConfigBuilder(memoryIo({}));
  again.main(readConfigData(Buffer.from(configYaml(config)), 'f'), '/cfg/f', 'f');
  assert.deepEqual(again.faults, []);
  const read = toJsonForm(again.config);
  assert.deepEqual(read['staticPodURLHeader'], Object.assign(Object.create(null), { Authorization: ['<masked>'] }));
  assert.deepEqual({ ...read, staticPodURLHeader: undefined }, { ...config, staticPodURLHeader: undefined });
});

test('each value has its origin, and no secret is shown', async () => {
  const { config, origins } = await loadKubelet(['--config=f', '--max-pods=7'], memoryIo({ '/cfg/f': text }));
  const lines = configYaml(config, (path) => formatOrigin(origins.of(path))).split('\n');
  const line = (start: string): string => (lines.find((l) => l.trim().startsWith(start)) ?? '').replace(/ {2,}#/, ' #').trim();
  assert.equal(line('maxPods:'), 'maxPods: 7 # flag --max-pods');
  assert.equal(line('memory.available:'), 'memory.available: 5% # file f:5:34');
  assert.equal(line('port:'), 'port: 10250 # default');
  assert.equal(line('cacheTTL:'), 'cacheTTL: 2m0s # default');
  assert.equal(line('clusterDomain:'), 'clusterDomain: "y" # file f:10:16');
  assert.doesNotMatch(lines.join('\n'), /abc/);
});
