import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { SimFiles } from '../../test/sim/files.ts';
import type { Pod } from '../api/types.ts';
import { silentLogger } from '../observe/log.ts';
import { PodDirectories } from './dirs.ts';

const pod = (uid: string): Pod => ({ metadata: { name: uid, namespace: 'ns', uid }, spec: { containers: [] } });

function bed(mounted: readonly string[] = []) {
  const files = new SimFiles(new SimClock());
  const errors: string[] = [];
  const log = {
    ...silentLogger,
    error: (_err: unknown, text: string, values?: object) => void errors.push(`${text} ${JSON.stringify(values)}`),
  };
  const dirs = new PodDirectories({
    files,
    log,
    podsDir: '/pods',
    mountsBelow: async (path) => mounted.filter((m) => m.startsWith(`${path}/`)),
  });
  const names = async () => (await files.list('/pods')).map(({ name }) => name);
  return { files, errors, dirs, names };
}

describe('PodDirectories', () => {
  it('makes the folders of a pod, for the agent only', async () => {
    const { files, dirs } = bed();
    await dirs.make(pod('a'));
    await dirs.make(pod('a'));
    for (const path of ['/pods/a', '/pods/a/volumes', '/pods/a/plugins']) assert.equal((await files.stat(path))?.mode, 0o750, path);
  });

  it('removes folders of pods that nobody knows, and nothing else there', async () => {
    const { files, dirs, names } = bed();
    for (const uid of ['known', 'orphan']) await dirs.make(pod(uid));
    files.seed({ '/pods/a-file': '' });
    await dirs.sweep((uid) => uid === 'known');
    assert.deepEqual(await names(), ['a-file', 'known']);
  });

  it('leaves one with a volume or a sub path still mounted, tells how many, and removes it once they are gone', async () => {
    const mounted = ['/pods/busy/volumes/kubernetes.io~csi/v/mount', '/pods/busy/volume-subpaths/v/c/0'];
    const { errors, dirs, names } = bed(mounted);
    for (const uid of ['busy', 'idle']) await dirs.make(pod(uid));
    await dirs.sweep(() => false);
    assert.deepEqual(await names(), ['busy']);
    assert.deepEqual(errors, ['Orphaned pod found, but volumes are still mounted {"podUID":"busy","mounts":2}']);
    mounted.length = 0;
    await dirs.sweep(() => false);
    assert.deepEqual(await names(), []);
  });

  it('goes on with the others when one will not go, and without a folder of pods there is nothing to do', async () => {
    const { files, errors, dirs, names } = bed();
    await dirs.sweep(() => false);
    for (const uid of ['a', 'b']) await dirs.make(pod(uid));
    files.fail({ op: 'removeTree', under: '/pods/a', code: 'EIO' });
    await dirs.sweep(() => false);
    assert.deepEqual(await names(), ['a']);
    assert.equal(errors.length, 1);
  });
});
