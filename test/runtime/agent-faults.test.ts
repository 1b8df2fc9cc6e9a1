import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Agent, startAgent } from '../support/agent.ts';
import { type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import {
  type AgentWorld,
  containerOf,
  isReady,
  leftOf,
  putManifest,
  removeManifest,
  shownPods,
  startAgentWorld,
  testPod,
  until,
  untilReady,
} from './agent-world.ts';

const run = promisify(execFile);

describe('the agent on a real containerd, and what goes wrong', () => {
  let world: AgentWorld;
  let containerd: PrivateContainerd;
  let agent: Agent;

  before(async () => {
    world = await startAgentWorld();
    ({ agent, containerd } = world);
    await putManifest(agent, 'steady.yaml', testPod('steady', ['sleep', '100000']));
    await untilReady(agent, 'steady');
  });
  after(() => world?.stop());

  it('an image that does not exist: ErrImagePull, then ImagePullBackOff', async () => {
    const pod = testPod('no-image', ['sleep', '1'], { container: { image: '127.0.0.1:1/none/such:1' } });
    await putManifest(agent, 'no-image.yaml', pod);
    const seen = new Set<string>();
    await until(agent, 'in pull back-off', async () => {
      const reason = (await containerOf(agent, 'no-image'))?.state?.waiting?.reason;
      if (reason !== undefined) seen.add(reason);
      return reason === 'ImagePullBackOff';
    });
    assert.equal(seen.has('ErrImagePull'), true, `seen: ${[...seen]}`);
    await removeManifest(agent, 'no-image.yaml');
  });

  it('a command that does not exist: the runtime says so, and the pod goes into CrashLoopBackOff', async () => {
    await putManifest(agent, 'no-command.yaml', testPod('no-command', ['/no/such/program']));
    const status = await until(agent, 'shown as failed to run', async () => {
      const c = await containerOf(agent, 'no-command');
      return c?.state?.waiting?.reason === 'CrashLoopBackOff' || c?.state?.waiting?.reason === 'RunContainerError' ? c : undefined;
    });
    assert.match(JSON.stringify(status), /no\/such\/program/);
    await removeManifest(agent, 'no-command.yaml');
  });

  it('a container that ends at once with 0, 1 or by a signal is restarted at once, then backed off', async () => {
    const cases = { 'exit-0': ['true'], 'exit-1': ['sh', '-c', 'exit 1'], 'exit-signal': ['sh', '-c', 'kill -9 $$'] };
    for (const [name, command] of Object.entries(cases)) await putManifest(agent, `${name}.yaml`, testPod(name, command));
    for (const name of Object.keys(cases)) {
      const c = await until(agent, `${name} in back-off`, async () => {
        const shown = await containerOf(agent, name);
        return shown?.state?.waiting?.reason === 'CrashLoopBackOff' ? shown : undefined;
      });
      assert.equal(c.restartCount >= 1, true, `${name} was restarted once without a wait`);
      assert.match(c.state?.waiting?.message ?? '', /^back-off 10s restarting failed container=c pod=/);
      const code = c.lastState?.terminated?.exitCode;
      assert.equal(name === 'exit-0' ? code === 0 : code !== 0 && code !== undefined, true, `${name}: exit code ${code}`);
      await removeManifest(agent, `${name}.yaml`);
    }
  });

  it('Never and OnFailure end in Succeeded and Failed', async () => {
    await putManifest(agent, 'once-ok.yaml', testPod('once-ok', ['true'], { spec: { restartPolicy: 'Never' } }));
    await putManifest(agent, 'once-bad.yaml', testPod('once-bad', ['false'], { spec: { restartPolicy: 'Never' } }));
    await putManifest(agent, 'until-ok.yaml', testPod('until-ok', ['true'], { spec: { restartPolicy: 'OnFailure' } }));
    const phase = (name: string, want: string) =>
      until(agent, `${name} ${want}`, async () => (await shownPods(agent)).get(name)?.status?.phase === want);
    await phase('once-ok', 'Succeeded');
    await phase('once-bad', 'Failed');
    await phase('until-ok', 'Succeeded');
    for (const name of ['once-ok', 'once-bad', 'until-ok']) await removeManifest(agent, `${name}.yaml`);
  });

  it('SIGKILL of the agent: nothing restarts, counts go on, what was removed meanwhile is stopped', async () => {
    await putManifest(agent, 'gone.yaml', testPod('gone', ['sleep', '100000']));
    await putManifest(agent, 'crashing.yaml', testPod('crashing', ['sh', '-c', 'sleep 1; exit 3']));
    await untilReady(agent, 'gone');
    await until(agent, 'crashing once', async () => ((await containerOf(agent, 'crashing'))?.restartCount ?? 0) >= 1);
    const steady = await containerOf(agent, 'steady');
    const crashes = (await containerOf(agent, 'crashing'))?.restartCount ?? 0;
    await agent.kill('SIGKILL');
    await rm(join(agent.manifests, 'gone.yaml'));
    await agent.start();
    await agent.waitHealthy();
    await untilReady(agent, 'steady');
    assert.deepEqual(await containerOf(agent, 'steady'), steady, 'the same container, with the same count and start');
    await until(agent, 'the removed pod stopped', async () => {
      const tasks = (await containerd.ctr(['containers', 'ls'])).split('\n').length;
      return tasks > 0 && (await leftOf(containerd, 'gone')) === '';
    });
    const later = await until(agent, 'the crashing one crashed again', async () => {
      const count = (await containerOf(agent, 'crashing'))?.restartCount ?? 0;
      return count > crashes ? count : undefined;
    });
    assert.equal(later > crashes, true);
    await removeManifest(agent, 'crashing.yaml');
  });

  it('SIGKILL in the middle of starting pods: all of them start once, nothing is left half-made', async () => {
    const names = Array.from({ length: 6 }, (_, i) => `burst-${i}`);
    for (const name of names) await putManifest(agent, `${name}.yaml`, testPod(name, ['sleep', '100000']));
    await sleep(250);
    await agent.kill('SIGKILL');
    await agent.start();
    await agent.waitHealthy();
    for (const name of names) await untilReady(agent, name, 60_000);
    const sandboxes = (await containerd.ctr(['containers', 'ls', 'labels."io.cri-containerd.kind"==sandbox', '-q']))
      .trim()
      .split('\n').length;
    await until(agent, 'one sandbox a pod', async () => {
      return (await leftOf(containerd, 'burst')).split('\n').length === names.length * 2;
    });
    assert.equal(sandboxes > 0, true);
    for (const name of names) await removeManifest(agent, `${name}.yaml`);
    await until(agent, 'burst pods gone', async () => (await leftOf(containerd, 'burst')) === '');
  });

  it('containerd away for a while: running pods stay, new ones start when it is back', async () => {
    const steady = await containerOf(agent, 'steady');
    await containerd.kill('SIGTERM');
    await putManifest(agent, 'late.yaml', testPod('late', ['sleep', '100000']));
    await sleep(6_000);
    assert.equal(await agent.healthy(), true, 'the agent itself is well');
    assert.equal(isReady((await shownPods(agent)).get('steady')), true, 'what ran is still shown as it was');
    await containerd.start();
    await untilReady(agent, 'late');
    assert.deepEqual(await containerOf(agent, 'steady'), steady);
    await removeManifest(agent, 'late.yaml');
  });

  it('containerd killed in the middle of RunPodSandbox: the pod starts once it is back', async () => {
    await putManifest(agent, 'cut.yaml', testPod('cut', ['sleep', '100000']));
    await sleep(120);
    await containerd.kill('SIGKILL');
    await sleep(500);
    await containerd.start();
    await untilReady(agent, 'cut', 60_000);
    await removeManifest(agent, 'cut.yaml');
  });

  it('a manifest that is half written, then whole; a bad one stops no other', async () => {
    const whole = JSON.stringify(testPod('halves', ['sleep', '100000']));
    await writeFile(join(agent.manifests, 'halves.json'), whole.slice(0, 60));
    await putManifest(agent, 'binary.yaml', '\u0000\u0001\u0002 not a pod');
    await sleep(300);
    assert.equal((await shownPods(agent)).has('halves'), false);
    await writeFile(join(agent.manifests, 'halves.json'), whole);
    await untilReady(agent, 'halves');
    assert.match(await agent.log(), /Could not process manifest file.*binary\.yaml/);
    await removeManifest(agent, 'halves.json');
    await removeManifest(agent, 'binary.yaml');
  });

  it('a second agent on the same root directory is refused and names the first', async () => {
    const program = join(import.meta.dirname, '../../bin/kubelet-ts');
    const refused = await run(program, ['--config', agent.configFile, '--root-dir', agent.rootDir]).then(
      () => undefined,
      (err: { code: number; stderr: string }) => err,
    );
    assert.equal(refused?.code, 1);
    assert.match(refused?.stderr ?? '', new RegExp(`${agent.pid()}`));
  });
});

describe('an agent whose disk refuses', () => {
  it('a log directory that is read-only, then writable', async () => {
    await using containerd = await startContainerd();
    const logs = join(containerd.dir, '..', 'ro-logs');
    await containerd.ownFolder(logs);
    await mkdir(logs, { recursive: true });
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'kts-logs', logs]);
    const agent = await startAgent({ containerd, config: { podLogsDir: join(logs, 'pods') } });
    try {
      await agent.waitHealthy();
      // Its server answers a little before it has made its folders.
      await until(agent, 'started', async () => /Started kubelet/.test(await agent.log()));
      await run('mount', ['-o', 'remount,ro', logs]);
      await putManifest(agent, 'a.yaml', testPod('a', ['sleep', '100000']));
      await until(agent, 'told of the read-only disk', async () => /read-only file system/i.test(await agent.log()));
      assert.equal(isReady((await shownPods(agent)).get('a')), false);
      await run('mount', ['-o', 'remount,rw', logs]);
      await untilReady(agent, 'a', 40_000);
    } finally {
      await agent.kill('SIGTERM');
    }
  });

  it('a full disk under the root directory: the pod waits with the reason, and starts when there is room', async () => {
    await using containerd = await startContainerd();
    const disk = join(containerd.dir, '..', 'small-disk');
    await containerd.ownFolder(disk);
    await mkdir(disk, { recursive: true });
    await run('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'kts-disk', disk]);
    const agent = await startAgent({
      containerd,
      dir: join(containerd.dir, '..', 'agent'),
      flags: ['--v=2', '--root-dir', join(disk, 'root')],
    });
    try {
      await agent.waitHealthy();
      const filler = join(disk, 'filler');
      await writeFile(filler, Buffer.alloc(512 * 1024)).catch((err: NodeJS.ErrnoException) => assert.equal(err.code, 'ENOSPC'));
      assert.equal((await stat(filler)).size > 0, true);
      await putManifest(agent, 'a.yaml', testPod('a', ['sleep', '100000']));
      await until(agent, 'told of the full disk', async () => /ENOSPC|no space left/i.test(await agent.log()));
      assert.equal(isReady((await shownPods(agent)).get('a')), false);
      assert.equal(await agent.healthy(), true);
      await rm(filler);
      await untilReady(agent, 'a', 40_000);
      assert.match(
        await readFile(join(disk, 'root/pods', (await shownPods(agent)).get('a')?.metadata.uid ?? '', 'etc-hosts'), 'utf8'),
        /Kubernetes-managed/,
      );
    } finally {
      await agent.kill('SIGTERM');
    }
  });
});
