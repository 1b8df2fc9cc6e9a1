import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { HttpError } from '../errors.ts';
import { journalArguments, type NodeLogQuery, readNodeLogQuery } from './node-log-query.ts';
import { linkTarget, openBelow } from './open-below.ts';

const read = (text: string) => readNodeLogQuery(new URLSearchParams(text));
const status = (text: string) => {
  try {
    read(text);
    return 200;
  } catch (err) {
    return err instanceof HttpError ? err.status : 500;
  }
};

test('what is asked of the node’s logs', () => {
  assert.equal(read(''), undefined);
  assert.equal(read('other=1'), undefined);
  assert.deepEqual(read('query=kubelet&query=containerd'), { services: ['kubelet', 'containerd'], file: undefined });
  assert.deepEqual(read('query=/apt/./term.log'), { services: [], file: ['apt', 'term.log'] });
  assert.deepEqual(read('query=kubelet&tailLines=5&boot=-1&pattern=a%2Bb&sinceTime=2026-01-02T03:04:05Z'), {
    services: ['kubelet'],
    file: undefined,
    tailLines: 5,
    boot: -1,
    pattern: 'a+b',
    sinceMs: Date.parse('2026-01-02T03:04:05Z'),
  });
});

test('what cannot be read is 400, what makes no sense is 406', () => {
  const bad = [
    'query=',
    'query=%20',
    'query=a&sinceTime=yesterday',
    'query=a&tailLines=x',
    'query=a&boot=1.5',
    'query=a&untilTime=2026-13-01T00:00:00Z',
  ];
  for (const text of bad) assert.equal(status(text), 400, text);
  const senseless = [
    'query=a&query=b&query=c&query=d&query=e',
    'query=$(id)',
    'query=a;b',
    `query=${'a'.repeat(257)}`,
    'query=a&query=/b',
    'query=/a&query=/b',
    'query=/a&tailLines=1',
    'tailLines=1',
    'query=a&boot=1',
    'query=a&tailLines=-1',
    'query=a&tailLines=100001',
    'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z',
    'query=a&pattern=(',
    'query=/../etc/passwd',
    'query=..%5C..%5Cetc',
  ];
  for (const text of senseless) assert.equal(status(text), 406, text);
  assert.equal(status('query=a&pattern=(?i)oops'), 200);
});

test('nothing of the query becomes an option of its own', () => {
  const value = fc.oneof(fc.string(), fc.constantFrom('--vacuum-size=1', '-D/', '--file=/etc/shadow', ';id', '$(id)'));
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), value, (services, pattern) => {
      const parameters = new URLSearchParams(services.map((s): [string, string] => ['query', s]));
      parameters.append('pattern', pattern);
      let query: NodeLogQuery | undefined;
      try {
        query = readNodeLogQuery(parameters);
      } catch (err) {
        assert.ok(err instanceof HttpError);
        return;
      }
      if (query === undefined) return;
      const args = journalArguments(query, query.services);
      const allowed =
        /^--(utc|no-pager|pager-end|output=short-precise|unit=[a-zA-Z0-9\-_.:@]+|grep=[\s\S]*|lines=\d+|boot=-?\d+|since=.*|until=.*)$/;
      for (const arg of args) assert.match(arg, allowed);
    }),
  );
});

test('a link leads where it says, and never out of the root', async () => {
  assert.deepEqual(linkTarget('/var/log', ['containers'], '/var/log/pods/a/0.log', []), ['pods', 'a', '0.log']);
  assert.deepEqual(linkTarget('/var/log', ['a', 'b'], '../c', ['d']), ['a', 'c', 'd']);
  assert.equal(linkTarget('/var/log', ['a'], '../../etc/passwd', []), undefined);
  assert.equal(linkTarget('/var/log', [], '/var/logs/x', []), undefined);
  assert.equal(linkTarget('/var/log', [], '/etc/passwd', []), undefined);
  const root = await mkdtemp(join(tmpdir(), 'kts-logs-'));
  try {
    await mkdir(join(root, 'pods'));
    await writeFile(join(root, 'pods/x.log'), 'text');
    await symlink(join(root, 'pods'), join(root, 'absolute'));
    await symlink('pods/x.log', join(root, 'relative'));
    await symlink('/etc/hostname', join(root, 'outside'));
    await symlink('loop', join(root, 'loop'));
    for (const path of ['pods/x.log', 'absolute/x.log', 'relative']) {
      const file = await openBelow(root, path.split('/'));
      assert.equal(await file.readFile('utf8'), 'text', path);
      await file.close();
    }
    for (const path of ['outside', 'loop', 'none', 'relative/x']) {
      await assert.rejects(openBelow(root, path.split('/')), (err) => err instanceof HttpError && err.status === 404, path);
    }
  } finally {
    await rm(root, { recursive: true });
  }
});
