/** What the virtual machine runs: the agent under systemd, pods of every class, what the kernel holds of them. */
import { readFile, writeFile } from 'node:fs/promises';
import { stopApiServer } from './apiserver.ts';
import { groupChecks } from './groupChecks.ts';
import { healthy, installAgent, runningPod, setUpRuntime } from './node.ts';
import { place, SLEEP } from './pods.ts';
import { pressureChecks } from './pressureChecks.ts';
import { check, expect, note, run } from './report.ts';
import { serviceChecks } from './serviceChecks.ts';

/** The parts that were asked for; none is all. */
const only = (await readFile('/payload/only', 'utf8').catch(() => '')).split(' ').filter((part) => part !== '');
const isWanted = (part: string) => only.length === 0 || only.includes(part);

await check('the machine: systemd is PID 1, cgroup v2 alone', async () => {
  expect('PID 1', (await readFile('/proc/1/comm', 'utf8')).trim(), 'systemd');
  expect('the file system of /sys/fs/cgroup', (await run('stat', '-fc', '%T', '/sys/fs/cgroup')).trim(), 'cgroup2fs');
  note(
    `kernel ${(await run('uname', '-r')).trim()}, ${(await run('systemctl', '--version')).split('\n')[0]}, ${(await run('containerd', '--version')).trim()}`,
  );
});

const ready = await check('containerd with its systemd driver', setUpRuntime);
const up =
  ready &&
  (await check('the agent as a service answers /healthz', async () => {
    await installAgent();
    await healthy(180);
    const journal = await run('journalctl', '-u', 'kubelet', '--no-pager', '-o', 'cat');
    const errors = journal.split('\n').filter((l) => /^E\d{4} /.test(l));
    if (errors.length > 0) throw new Error(`errors in its log: ${errors.slice(0, 3).join(' / ')}`);
  }));
if (up) {
  await place('guaranteed', SLEEP, { requests: { cpu: '200m', memory: '64Mi' }, limits: { cpu: '200m', memory: '64Mi' } });
  await place('burstable', SLEEP, { requests: { cpu: '100m', memory: '32Mi' }, limits: { cpu: '300m', memory: '96Mi' } });
  await place('besteffort', SLEEP, {});
  await check('pods of the three classes run', async () => {
    for (const name of ['guaranteed', 'burstable', 'besteffort']) await runningPod(name, 180);
  });
  if (isWanted('groups')) await groupChecks();
  if (isWanted('service')) await serviceChecks();
  if (isWanted('pressure')) await pressureChecks();
}
await writeFile('/run/kubelet.log', await run('journalctl', '-u', 'kubelet', '--no-pager', '-o', 'cat').catch(String));
if (!up) process.stdout.write(`${await run('tail', '-n', '30', '/run/kubelet.log')}\n`);
stopApiServer();
process.stdout.write('complete\n');
