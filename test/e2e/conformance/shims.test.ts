import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { run } from '../../../scripts/node/run.ts';

const shims = join(import.meta.dirname, 'shims');

test('systemd-run and systemctl: a unit is listed, killed and restarted with its words, folder and log', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kts-units-'));
  const call = (name: string, ...args: string[]) =>
    run(join(shims, name), args, { cwd: folder, env: { KTS_UNITS: join(folder, 'units') } });
  const listed = async (state: string) =>
    /kubelet-1\.service loaded active \w+/.exec((await call('systemctl', 'list-units', '*kubelet*', `--state=${state}`)).stdout)?.[0];
  const pid = () => readFile(join(folder, 'units/kubelet-1.service/pid'), 'utf8');
  try {
    await mkdir(join(folder, 'units'));
    const script = 'pwd >&2; echo "$1" >&2; exec sleep 1000';
    const log = join(folder, 'log');
    await call(
      'systemd-run',
      '-p',
      'Delegate=true',
      '-p',
      `StandardError=append:${log}`,
      '--unit=kubelet-1.service',
      '--slice=runtime.slice',
      '--remain-after-exit',
      'sh',
      '-c',
      script,
      'sh',
      '50%% of $$x',
    );
    assert.equal(await listed('running'), 'kubelet-1.service loaded active running');
    assert.equal((await call('systemctl', 'is-active', 'kubelet-1')).stdout.trim(), 'active');
    const first = await pid();
    assert.equal((await call('systemctl', 'kill', 'kubelet-1')).code, 0);
    while (existsSync(`/proc/${first.trim()}`) && (await listed('running')) !== undefined) await run('true', []);
    assert.equal(await listed('running'), undefined);
    assert.equal(await listed('exited'), 'kubelet-1.service loaded active exited');
    assert.equal((await call('systemctl', 'reset-failed', 'kubelet-1.service')).code, 0);
    assert.equal((await call('systemctl', 'restart', 'kubelet-1')).code, 0);
    assert.notEqual(await pid(), first);
    assert.equal((await call('systemctl', 'stop', 'kubelet-1')).code, 0);
    assert.equal((await call('systemctl', 'is-active', 'kubelet-1')).code, 3);
    assert.equal(await readFile(log, 'utf8'), `${folder}\n50% of $x\n`.repeat(2));
    assert.equal((await call('systemctl', 'restart', 'absent')).code, 5);
    assert.equal((await call('systemctl', 'isolate', 'x')).code, 1);
    assert.match((await call('systemd-run', '--version')).stdout, /^systemd 252/);
    assert.equal((await call('sudo', '-n', 'echo', 'x')).stdout, 'x\n');
  } finally {
    await call('systemctl', 'stop', 'kubelet-1');
    await rm(folder, { recursive: true });
  }
});
