import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type TestContext } from 'node:test';
import { type RunResult, run } from './node/run.ts';

/** A stand-in for node that tells how it was called. */
const FAKE_NODE = (version: string) => `#!/bin/bash
if [ "$1" = --version ]; then echo ${version}; exit 0; fi
printf '%s\\n' "pid $$" "argv0 $0" "$@"
`;

/** An installation in a folder with a blank in its name; `start` runs its launcher with only `path` on PATH. */
async function installation(t: TestContext, parts: { node?: string; dist?: boolean; src?: boolean }) {
  const top = await mkdtemp(join(tmpdir(), 'kts-launcher-'));
  t.after(() => rm(top, { recursive: true }));
  const root = join(top, 'my install');
  for (const folder of ['bin', 'dist', 'src', 'path']) await mkdir(join(root, folder), { recursive: true });
  const launcher = join(root, 'bin/kubelet-ts');
  await copyFile(resolve(import.meta.dirname, '../bin/kubelet-ts'), launcher);
  if (parts.dist) await writeFile(join(root, 'dist/kubelet-ts.mjs'), '');
  if (parts.src) await writeFile(join(root, 'src/main.ts'), '');
  if (parts.node !== undefined) await program(join(root, 'node'), FAKE_NODE(parts.node));
  const start = (args: string[], env: Record<string, string> = {}, path = launcher): Promise<RunResult> =>
    run(path, args, { cwd: '/', env: { KUBELET_TS_NODE_FLAGS: '', PATH: `${join(root, 'path')}:/usr/bin:/bin`, ...env } });
  return { root, top, launcher, start };
}

async function program(path: string, text: string): Promise<void> {
  await writeFile(path, text);
  await chmod(path, 0o755);
}

test('the version is told without any node', async (t) => {
  const { start } = await installation(t, {});
  for (const flag of ['--version', '--version=true'])
    assert.deepEqual(await start([flag]), { code: 0, stdout: 'Kubernetes v1.37.2\n', stderr: '' });
});

test('it works from any folder, through links, and hands arguments over as they are', async (t) => {
  const { root, top, start } = await installation(t, { node: 'v24.1.0', dist: true });
  await symlink(join(root, 'bin/kubelet-ts'), join(top, 'first'));
  await symlink('first', join(top, 'second'));
  const result = await start(['--a=b c', '', '*'], {}, join(top, 'second'));
  assert.equal(result.code, 0, result.stderr);
  assert.deepEqual(result.stdout.split('\n').slice(2, -1), [join(root, 'dist/kubelet-ts.mjs'), '--a=b c', '', '*']);
});

test('its pid is the agent’s, and installed as kubelet the agent has that name', async (t) => {
  const { top, root, launcher } = await installation(t, {});
  await symlink(process.execPath, join(root, 'node'));
  await writeFile(join(root, 'dist/kubelet-ts.mjs'), 'console.log(process.pid, process.argv0, process.argv.slice(2).join());');
  await symlink(launcher, join(top, 'kubelet'));
  const started = async (path: string) => {
    const child = spawn(path, ['--v=2', 'x'], { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, KUBELET_TS_NODE_FLAGS: '' } });
    let said = '';
    for await (const chunk of child.stdout) said += String(chunk);
    return { pid: child.pid, said };
  };
  const kubelet = await started(join(top, 'kubelet'));
  assert.equal(kubelet.said, `${kubelet.pid} kubelet --v=2,x\n`);
  const plain = await started(launcher);
  assert.equal(plain.said, `${plain.pid} ${join(root, 'node')} --v=2,x\n`);
});

test('a node that is too old is refused with what to do', async (t) => {
  const { root, start } = await installation(t, { dist: true });
  await program(join(root, 'path/node'), FAKE_NODE('v20.19.0'));
  const result = await start(['--x']);
  assert.equal(result.code, 1);
  assert.match(result.stderr, /node 24 or later is needed.*npm ci.*KUBELET_TS_NODE/);
  const named = await start(['--x'], { KUBELET_TS_NODE: join(root, 'path/node') });
  assert.equal(named.code, 1);
  assert.match(named.stderr, /KUBELET_TS_NODE=.*is not a node of version 24 or later/);
});

test('a new enough node from PATH will do, flags can be given', async (t) => {
  const { root, start } = await installation(t, { dist: true });
  await program(join(root, 'path/node'), FAKE_NODE('v25.0.0'));
  const result = await start(['--x'], { KUBELET_TS_NODE_FLAGS: '--one --two' });
  assert.deepEqual(result.stdout.split('\n').slice(2, -1), ['--one', '--two', join(root, 'dist/kubelet-ts.mjs'), '--x']);
});

test('without a bundle, or with one older than the sources, the sources run', async (t) => {
  const { root, start } = await installation(t, { node: 'v24.1.0', src: true });
  assert.match((await start([])).stdout, /src\/main\.ts/);
  await writeFile(join(root, 'dist/kubelet-ts.mjs'), '');
  await utimes(join(root, 'src/main.ts'), 1, 1);
  assert.match((await start([])).stdout, /dist\/kubelet-ts\.mjs/);
  assert.match((await start([], { KUBELET_TS_RUN: 'src' })).stdout, /src\/main\.ts/);
  await utimes(join(root, 'dist/kubelet-ts.mjs'), 0, 0);
  const stale = await start([]);
  assert.match(stale.stdout, /src\/main\.ts/);
  assert.match(stale.stderr, /older than src/);
});

test('an installation without a program says so', async (t) => {
  const { start } = await installation(t, { node: 'v24.1.0' });
  const result = await start([]);
  assert.equal(result.code, 1);
  assert.match(result.stderr, /main\.ts is missing: run 'npm ci && npm run build'/);
});
