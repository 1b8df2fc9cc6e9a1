import assert from 'node:assert/strict';
import test from 'node:test';
import { kubeletIds, parseSubordinateIds, type SubordinateIdsHost } from './subordinate-ids.ts';

const Unit = 65_536;
const fallback = { first: Unit, length: 2 ** 32 - Unit };

/** A host where `getsubids` says `users` and, with -g, `groups`. */
function host(users: string | Error, groups = users, over: Partial<SubordinateIdsHost> = {}): SubordinateIdsHost {
  return {
    hasUser: async (name) => name === 'kubelet',
    find: async (program) => `/usr/bin/${program}`,
    run: async (path, args) => {
      assert.equal(path, '/usr/bin/getsubids');
      assert.equal(args.at(-1), 'kubelet');
      const said = args[0] === '-g' ? groups : users;
      if (said instanceof Error) throw said;
      return said;
    },
    ...over,
  };
}

test('without a user kubelet, or without getsubids, everything above the host’s block is for pods', async () => {
  assert.deepEqual(await kubeletIds(host('', '', { hasUser: async () => false }), Unit), fallback);
  assert.deepEqual(await kubeletIds(host('', '', { find: async () => undefined }), Unit), fallback);
});

test('the subordinate ids of the user kubelet', async () => {
  assert.deepEqual(await kubeletIds(host('0: kubelet 131072 7208960\n'), Unit), { first: 131_072, length: 7_208_960 });
});

test('a user whose ids cannot be had, or differ for groups, stops the start', async () => {
  await assert.rejects(
    kubeletIds(host(new Error('exit status 1')), Unit),
    /error retrieving additional uids for user "kubelet": exit status 1/,
  );
  await assert.rejects(kubeletIds(host('0: kubelet 65536 65536\n', new Error('no')), Unit), /additional gids/);
  await assert.rejects(kubeletIds(host('0: kubelet 65536 65536\n', '0: kubelet 65536 131072\n'), Unit), /mismatched subuids and subgids/);
});

test('lines that getsubids does not write are refused', () => {
  for (const text of ['', '0: kubelet 65536\n', '0: kubelet 65536 65536 1\n', '0: kubelet x 65536\n', '0: kubelet 65536 4294967296\n']) {
    assert.throws(() => parseSubordinateIds(text), /line/, JSON.stringify(text));
  }
  assert.throws(() => parseSubordinateIds('0: kubelet 65536 65536\n1: kubelet 262144 65536\n'), /only one line/);
});
