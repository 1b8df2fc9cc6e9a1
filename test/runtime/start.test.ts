import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test from 'node:test';
import { traces } from '../support/traces.ts';

const project = resolve(import.meta.dirname, '../..');

interface Started {
  pid: number;
  /** Resolves once the output holds `text`. */
  says(text: string): Promise<void>;
  ended: Promise<{ code: number | null; output: string }>;
}

/** `npm start` without npm: as a process group of its own, as a terminal would make it. */
function start(...args: string[]): Started {
  const child = spawn(process.execPath, ['scripts/start.ts', ...args], { cwd: project, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  const waiting: { text: string; resolve: () => void }[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk);
      for (const w of waiting) if (output.includes(w.text)) w.resolve();
    });
  }
  const ended = new Promise<{ code: number | null; output: string }>((done) => child.on('close', (code) => done({ code, output })));
  return {
    pid: child.pid ?? assert.fail('not started'),
    says: (text) => {
      if (output.includes(text)) return Promise.resolve();
      const found = new Promise<void>((done) => waiting.push({ text, resolve: done }));
      return Promise.race([found, ended.then((e) => assert.fail(`ended before it said "${text}":\n${e.output}`))]);
    },
    ended,
  };
}

function runOf(output: string): { index: number; dir: string } {
  const index = Number(/\/run\/kubelet-ts\/([0-9]+)\//.exec(output)?.[1] ?? assert.fail(`no run in:\n${output}`));
  return { index, dir: join(project, '.run', String(index), 'containerd') };
}

async function links(): Promise<string[]> {
  return (await readdir('/var/log/containers').catch(() => [])).filter((n) => n.includes('_default_'));
}

test('npm start -- --once: all example pods become ready, exit 0, nothing is left', async () => {
  const wanted = (await readdir(join(project, 'examples/manifests'))).length;
  const before = await links();
  const { code, output } = await start('--once').ended;
  assert.equal(code, 0, output);
  assert.match(output, new RegExp(`^${wanted}/${wanted} pods ready in [0-9]+\\.[0-9] s$`, 'm'));
  assert.deepEqual(await traces(runOf(output)), []);
  assert.deepEqual(await links(), before);
});

test('a pod that cannot start is named with the reason, exit 1, nothing is left', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kts-start-'));
  try {
    const pod = (name: string, image: string) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { containers: [{ name: 'c', image, imagePullPolicy: 'Never', command: ['sleep', '1000'] }] },
      });
    await writeFile(join(folder, 'good.json'), pod('good', 'registry.local/busybox:1'));
    await writeFile(join(folder, 'bad.json'), pod('bad', 'registry.local/absent:1'));
    await writeFile(join(folder, 'broken.yaml'), 'kind: Pod\n  metadata: [');
    const { code, output } = await start('--once', '--manifests', folder, '--timeout', '12').ended;
    assert.equal(code, 1, output);
    assert.match(output, /1\/3 pods ready; not ready:/);
    assert.match(output, /^ +bad-\S+ .*ErrImageNeverPull.*registry\.local\/absent:1/m);
    assert.match(output, /^ +broken\.yaml: .*broken\.yaml/m);
    assert.deepEqual(await traces(runOf(output)), []);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('Ctrl-C, pressed twice, ends it in order and leaves nothing', async () => {
  const started = start();
  await started.says('Ctrl-C stops everything');
  await started.says('Running');
  process.kill(-started.pid, 'SIGINT');
  process.kill(-started.pid, 'SIGINT');
  const { code, output } = await started.ended;
  assert.equal(code, 0, output);
  assert.match(output, /Nothing is left of this run/);
  assert.deepEqual(await traces(runOf(output)), []);
});
