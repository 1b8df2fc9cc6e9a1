import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, VolumeMount } from '../api/types.ts';
import { nestedMountPoints } from './nested-mount-points.ts';

const pod = (...lists: VolumeMount[][]): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: lists.map((volumeMounts, i) => ({ name: `c${i}`, volumeMounts })) },
});
const files = (...paths: string[]) => new Map(paths.map((path) => [path, undefined]));

describe('nestedMountPoints', () => {
  it('names the outermost places of other volumes', () => {
    const p = pod(
      [
        { name: 'v', mountPath: '/etc/app/' },
        { name: 'w', mountPath: '/etc/app/certs' },
        { name: 'x', mountPath: '/etc/app/certs/deep' },
        { name: 'y', mountPath: '/etc/application' },
        { name: 'z', mountPath: '/etc/app/certs2/a' },
      ],
      [
        { name: 'v', mountPath: 'data' },
        { name: 'w', mountPath: '/data/in' },
      ],
    );
    assert.deepEqual(nestedMountPoints(p, 'v', files()), ['certs', 'certs2/a', 'in']);
    assert.deepEqual(nestedMountPoints(p, 'w', files()), ['deep']);
    assert.deepEqual(nestedMountPoints(p, 'z', files()), []);
  });

  it('leaves out what the volume shows itself, and sub paths of the volume', () => {
    const p = pod([
      { name: 'v', mountPath: '/a' },
      { name: 'w', mountPath: '/a/key', subPath: 'k' },
      { name: 'w', mountPath: '/a/dir/below' },
      { name: 'v', mountPath: '/b', subPath: 's' },
      { name: 'w', mountPath: '/b/c' },
      { name: 'w', mountPath: '/a/..data' },
    ]);
    assert.deepEqual(nestedMountPoints(p, 'v', files('key', 'dir/file')), []);
    assert.deepEqual(nestedMountPoints(p, 'v', files()), ['dir/below', 'key']);
  });
});
