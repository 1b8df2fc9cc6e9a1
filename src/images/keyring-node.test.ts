import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../test/sim/clock.ts';
import { SimFiles } from '../../test/sim/files.ts';
import { silentLogger } from '../observe/log.ts';
import { NodeKeyring } from './keyring-node.ts';

const config = (username: string) => JSON.stringify({ auths: { 'reg.io': { username, password: 'p' } } });
const cfg = (username: string) => JSON.stringify({ 'reg.io': { username, password: 'p' } });

function keyringOf(files: Record<string, string>, clock = new SimClock()) {
  const disk = new SimFiles(clock);
  disk.seed(files);
  const keyring = new NodeKeyring({
    files: disk,
    clock,
    log: silentLogger,
    rootDir: '/root/kubelet',
    workingDir: '/cwd',
    homeDir: '/home/me',
  });
  const users = async (repo = 'reg.io/x') => (await keyring.lookup(repo)).map((c) => c.login.username);
  return { disk, clock, users };
}

describe('NodeKeyring', () => {
  it('takes the first configuration of the contract’s places', async () => {
    const files = new Map([
      ['/root/kubelet/config.json', config('root-dir')],
      ['/cwd/config.json', config('cwd')],
      ['/home/me/.docker/config.json', config('home')],
      ['/.docker/config.json', config('slash')],
      ['/root/kubelet/.dockercfg', cfg('old-root-dir')],
      ['/cwd/.dockercfg', cfg('old-cwd')],
      ['/home/me/.dockercfg', cfg('old-home')],
      ['/.dockercfg', cfg('old-slash')],
    ]);
    const seen: string[] = [];
    while (files.size > 0) {
      seen.push(...(await keyringOf(Object.fromEntries(files)).users()));
      const [first = ''] = files.keys();
      files.delete(first);
    }
    assert.deepEqual(seen, ['root-dir', 'cwd', 'home', 'slash', 'old-root-dir', 'old-cwd', 'old-home', 'old-slash']);
    assert.deepEqual(await keyringOf({}).users(), []);
  });

  it('goes on to the next one when one cannot be read', async () => {
    assert.deepEqual(await keyringOf({ '/root/kubelet/config.json': '{', '/cwd/config.json': config('cwd') }).users(), ['cwd']);
  });

  it('reads again after five minutes', async () => {
    const { disk, clock, users } = keyringOf({ '/cwd/config.json': config('old') });
    assert.deepEqual(await users(), ['old']);
    disk.seed({ '/cwd/config.json': config('new') });
    await clock.advance(299_000);
    assert.deepEqual(await users(), ['old']);
    await clock.advance(2_000);
    assert.deepEqual(await users(), ['new']);
    assert.deepEqual(await users('other.io/x'), []);
  });
});
