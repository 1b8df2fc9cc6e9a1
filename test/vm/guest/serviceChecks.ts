import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupOf, podSlices, unitProperties } from './groups.ts';
import { healthy, runningPod, type ShownPod, shownPod } from './node.ts';
import { place, SLEEP, unplace } from './pods.ts';
import { check, expect, run, until } from './report.ts';

const NAMES = ['guaranteed', 'burstable', 'besteffort'] as const;

async function containers(): Promise<string[]> {
  const pods = await Promise.all(NAMES.map((name) => runningPod(name, 120)));
  return pods.flatMap((pod: ShownPod) => (pod.status?.containerStatuses ?? []).map((s) => `${s.containerID} ${s.restartCount}`)).sort();
}

const mainPid = async () => (await unitProperties('kubelet.service', 'MainPID'))['MainPID'] ?? '0';

/** The agent as a service of systemd: killed, stopped, started; pods that come and go. */
export async function serviceChecks(): Promise<void> {
  await check('it shows as kubelet', async () => {
    expect('comm', (await run('ps', '-o', 'comm=', '-p', await mainPid())).trim(), 'kubelet');
  });

  await check('SIGKILL: systemd starts it again, no container is restarted', async () => {
    const before = await containers();
    const pid = await mainPid();
    process.kill(Number(pid), 'SIGKILL');
    await until('another process', 60, async () => (await mainPid()) !== pid && (await mainPid()) !== '0');
    await healthy(120);
    expect('containers and restarts', await containers(), before);
  });

  await check('stop and start of the service: pods run on', async () => {
    const before = await containers();
    await run('systemctl', 'stop', 'kubelet');
    expect('state', (await unitProperties('kubelet.service', 'ActiveState', 'Result'))['Result'], 'success');
    await sleep(2000);
    await run('systemctl', 'start', 'kubelet');
    await healthy(120);
    expect('containers and restarts', await containers(), before);
  });

  await check('a pod that goes leaves no slice behind, also with a process that moved itself', async () => {
    await place('shortlived', SLEEP, { requests: { cpu: '50m' } });
    const pod = await runningPod('shortlived');
    const group = groupOf(pod, 'Burstable');
    // A straggler: not of the container, yet in the pod's group.
    await run('mkdir', `/sys/fs/cgroup/${group}/straggler`);
    const straggler = spawn('sleep', ['600'], { stdio: 'ignore' });
    await run('sh', '-c', `echo ${straggler.pid} > /sys/fs/cgroup/${group}/straggler/cgroup.procs`);
    const ended = new Promise((resolve) => straggler.once('exit', resolve));
    await unplace('shortlived');
    await until('the pod is gone', 120, async () => (await shownPod('shortlived')) === undefined);
    await until('its slice is gone', 120, async () => (await podSlices()).length === NAMES.length);
    await ended;
    const unit = group.slice(group.lastIndexOf('/') + 1);
    expect('its unit', (await unitProperties(unit, 'ActiveState'))['ActiveState'], 'inactive');
  });
}
