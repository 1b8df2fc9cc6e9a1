import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../../test/sim/clock.ts';
import { SimFiles } from '../../../test/sim/files.ts';
import type { Pod } from '../../api/types.ts';
import type { RuntimeHandler } from '../../cri/types.ts';
import { silentLogger } from '../../observe/log.ts';
import { UserNamespaces } from './user-namespaces.ts';

const Unit = 65_536;
const pod = (uid: string, hostUsers?: boolean): Pod => ({
  metadata: { name: uid, namespace: 'ns', uid },
  spec: { containers: [], ...(hostUsers === undefined ? {} : { hostUsers }) },
});
const fileOf = (first: number) =>
  `{"uidMappings":[{"hostId":${first},"containerId":0,"length":65536}],"gidMappings":[{"hostId":${first},"containerId":0,"length":65536}]}`;

/** A node with ids for four pods. */
class Bed {
  readonly files = new SimFiles(new SimClock());
  readonly errors: unknown[] = [];
  handlers: RuntimeHandler[] = [
    { name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: true } },
    { name: 'old', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
  ];
  userns = this.#make();

  #make(): UserNamespaces {
    const log = { ...silentLogger, error: (err: unknown) => void this.errors.push(err) };
    const ids = { first: Unit, length: 4 * Unit };
    return new UserNamespaces({ files: this.files, log, podsDir: '/pods', ids, idsPerPod: Unit, handlers: () => this.handlers });
  }

  static async open(seed: Record<string, string> = {}): Promise<Bed> {
    const bed = new Bed();
    bed.files.seed(seed);
    await bed.restart();
    return bed;
  }

  async restart(): Promise<void> {
    this.userns = this.#make();
    await this.userns.open();
  }

  async first(uid: string): Promise<number | undefined> {
    return (await this.userns.of(pod(uid, false), '')).uids[0]?.hostId;
  }

  async file(uid: string): Promise<string | undefined> {
    const path = `/pods/${uid}/userns`;
    return (await this.files.stat(path)) === undefined ? undefined : (await this.files.read(path)).toString();
  }
}

describe('UserNamespaces', () => {
  it('tells the runtime to use the host’s for a pod that wants no other, and writes nothing', async () => {
    const bed = await Bed.open();
    const host = { mode: 'NODE', uids: [], gids: [] };
    assert.deepEqual(await bed.userns.of(pod('a'), ''), host);
    assert.deepEqual(await bed.userns.of(pod('a', true), ''), host);
    assert.equal(await bed.file('a'), undefined);
  });

  it('gives a pod a block for users and groups, in the real kubelet’s file', async () => {
    const bed = await Bed.open();
    const mapping = [{ hostId: Unit, containerId: 0, length: Unit }];
    assert.deepEqual(await bed.userns.of(pod('a', false), ''), { mode: 'POD', uids: mapping, gids: mapping });
    assert.equal(await bed.file('a'), fileOf(Unit));
    assert.equal(await bed.first('b'), 2 * Unit);
    assert.equal(await bed.first('a'), Unit);
  });

  it('keeps the blocks over a restart of the agent, also those that another kubelet gave', async () => {
    const bed = await Bed.open({ '/pods/old/userns': fileOf(2 * Unit), '/pods/plain/etc-hosts': '' });
    assert.equal(await bed.first('new'), Unit);
    assert.equal(await bed.first('old'), 2 * Unit);
    await bed.restart();
    assert.equal(await bed.first('third'), 3 * Unit);
    assert.equal(await bed.first('new'), Unit);
    assert.equal(await bed.first('old'), 2 * Unit);
  });

  it('frees a block with its file when the pod is over, and those of unknown pods', async () => {
    const bed = await Bed.open();
    await bed.first('a');
    await bed.first('b');
    await bed.userns.release('a');
    await bed.userns.release('never seen');
    assert.equal(await bed.file('a'), undefined);
    await bed.userns.sweep((uid) => uid !== 'b');
    assert.equal(await bed.file('b'), undefined);
    assert.equal(await bed.first('c'), Unit);
    assert.equal(await bed.first('d'), 2 * Unit);
  });

  it('says so when no block is left, and gives the next pod the one that comes free', async () => {
    const bed = await Bed.open();
    for (const uid of ['a', 'b', 'c', 'd']) await bed.first(uid);
    await assert.rejects(bed.first('e'), /user namespace: all 4 blocks of ids are taken/);
    assert.equal(await bed.file('e'), undefined);
    await bed.userns.release('c');
    assert.equal(await bed.first('e'), 3 * Unit);
  });

  it('refuses where the runtime cannot, and says which handler', async () => {
    const bed = await Bed.open();
    const refuse = (handler: string, text: RegExp) => assert.rejects(bed.userns.of(pod('a', false), handler), text);
    await refuse('old', /RuntimeClass handler "old" does not support user namespaces$/);
    await refuse('gone', /RuntimeClass handler "gone" does not support user namespaces: the handler "gone" is not known/);
    bed.handlers = [];
    await refuse('', /^Error: can't set `spec.hostUsers: false`, runtime does not support user namespaces$/);
    assert.equal(await bed.file('a'), undefined);
  });

  it('a block that cannot be written down is not given', async () => {
    const bed = await Bed.open();
    bed.files.fail({ op: 'writeAtomic', under: '/pods/a', code: 'ENOSPC' });
    await assert.rejects(bed.first('a'), /user namespace: .*ENOSPC/);
    assert.equal(await bed.first('b'), Unit);
  });

  it('with a file that it cannot read it gives nothing new, names the file, and goes on once that pod is gone', async () => {
    for (const text of ['{', '[]', '{"uidMappings":[]}', fileOf(Unit).replace('"hostId":65536', '"hostId":131072'), fileOf(9 * Unit)]) {
      const bed = await Bed.open({ '/pods/bad/userns': text, '/pods/good/userns': fileOf(2 * Unit) });
      assert.equal(bed.errors.length, 1, text);
      await assert.rejects(bed.first('bad'), /user namespace: /, text);
      await assert.rejects(bed.first('new'), /\/pods\/bad\/userns cannot be used .* mend or remove it/, text);
      assert.equal(await bed.first('good'), 2 * Unit);
      await bed.userns.sweep((uid) => uid === 'good');
      assert.equal(await bed.first('new'), Unit);
    }
  });
});
