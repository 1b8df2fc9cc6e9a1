import assert from 'node:assert/strict';
import test from 'node:test';
import { areaOf, focusOf, modeOf, readSpecs, specsMatching, specsOfAreas, specText } from './specs.ts';

const specs = readSpecs();

test('the list holds what the Go kubelet was measured to do', () => {
  assert.equal(specs.length, 607);
  assert.equal(specs.filter((s) => s.go === 'pass').length, 570);
  assert.equal(new Set(specs.map((s) => s.name)).size, specs.length);
});

test('an area is the name of a file without its endings', () => {
  assert.equal(areaOf('e2e_node/mount_rro_linux_test.go'), 'mount_rro');
  assert.equal(areaOf('e2e/common/node/pods.go'), 'pods');
  assert.equal(areaOf('?'), 'other');
  assert.ok(specsOfAreas(specs, ['pods', 'lease']).every((s) => ['pods', 'lease'].includes(s.area) && s.go === 'pass'));
  assert.throws(() => specsOfAreas(specs, ['pods', 'nothing']), /no area nothing; there are .*configmap/);
});

test('serial and disruptive specs run alone, slow ones apart', () => {
  assert.equal(
    specs.find((s) => s.area === 'endpoints' && modeOf(s) !== 'serial'),
    undefined,
  );
  assert.equal(modeOf({ area: '', go: 'pass', seconds: 0, name: 'a [Slow] [Disruptive]' }), 'serial');
  assert.equal(modeOf({ area: '', go: 'pass', seconds: 0, name: 'a [Slow]' }), 'slow');
  assert.equal(modeOf({ area: '', go: 'pass', seconds: 0, name: 'a' }), 'parallel');
});

test('a focus matches its spec and no other', () => {
  // ginkgo's syntax is Go's; what is escaped here means the same in both.
  const patterns = specs.map((s) => new RegExp(focusOf(s)));
  for (const [i, spec] of specs.entries()) {
    const hits = specs.filter((s) => patterns[i]?.test(s.name));
    assert.deepEqual(hits, [spec]);
  }
});

test('a version constraint behind a name is no part of it', () => {
  assert.equal(specText('a spec [Slow] [kubelet: [>=1.36]]'), 'a spec [Slow]');
  assert.equal(specText('a spec [Slow]'), 'a spec [Slow]');
});

test('a pattern also finds what the Go kubelet does not pass', () => {
  assert.ok(specsMatching(specs, /PrivilegedPod/).some((s) => s.go === 'FAIL'));
});

test('a line that is no spec is told with its number', () => {
  assert.throws(() => readSpecs('# head\nfile.go\tmaybe\t1\tname\n'), /specs\.tsv:2/);
});
