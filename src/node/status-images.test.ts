import assert from 'node:assert/strict';
import test from 'node:test';
import type { Image } from '../cri/types.ts';
import { shownVersion } from './runtime-version.ts';
import { reportedImages } from './status-images.ts';

const image = (id: string, size: number, repoTags: string[] = [], repoDigests: string[] = []): Image => ({
  id,
  size,
  repoTags,
  repoDigests,
  username: '',
  pinned: false,
});

test('the largest images come first, with five names, digests before tags', () => {
  const images = [image('a', 1, ['a:1']), image('b', 9, ['b:1', 'b:2', 'b:3', 'b:4'], ['b@x', 'b@y']), image('c', 5)];
  assert.deepEqual(reportedImages(images, 2), [{ names: ['b@x', 'b@y', 'b:1', 'b:2', 'b:3'], sizeBytes: 9 }, { sizeBytes: 5 }]);
  assert.equal(reportedImages(images, -1).length, 3);
  assert.deepEqual(reportedImages(images, 0), []);
  // Of the same size in one order always, so that the status does not change by itself.
  assert.deepEqual(
    reportedImages([image('y', 1, ['y:1']), image('x', 1, ['x:1'])], -1).map((i) => i.names?.[0]),
    ['x:1', 'y:1'],
  );
});

test('versions of runtimes are shown as the real kubelet shows them', () => {
  const cases: [string, string][] = [
    ['2.0.0', '2.0.0'],
    ['v1.7.2', '1.7.2'],
    ['1.6.20~ds1', '1.6.20'],
    ['1.7.0-rc.1+build.5', '1.7.0-rc.1+build.5'],
    ['1.30', '1.30'],
    ['1.2.3.4-x', '1.2.3.4'],
    ['', 'Unknown'],
    ['devel', 'Unknown'],
  ];
  for (const [text, shown] of cases) assert.equal(shownVersion(text), shown, text);
});
