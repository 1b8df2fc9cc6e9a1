import { expectFiles, groupOf, mainGroup, meminfo, unitProperties, value } from './groups.ts';
import { type ShownPod, shownPod } from './node.ts';
import { check, expect, run } from './report.ts';

const MiB = 1024 ** 2;
const pod = async (name: string): Promise<ShownPod> => {
  const found = await shownPod(name);
  if (found === undefined) throw new Error(`pod ${name} is not there`);
  return found;
};

/** What control groups hold of the pods that run, and that systemd knows the same. */
export async function groupChecks(): Promise<void> {
  await check('all pods: capacity less what is reserved', async () => {
    const memory = (await meminfo('MemTotal')) - 100 * MiB;
    // The kernel keeps whole pages.
    await expectFiles('kubepods.slice', { 'memory.max': String(Math.floor(memory / 4096) * 4096) });
    // 2 CPUs less 100m: 1945 shares on the scale of weights.
    await expectFiles('kubepods.slice', { 'cpu.weight': String(1 + Math.floor(((Math.floor((1900 * 1024) / 1000) - 2) * 9999) / 262142)) });
    return `memory.max ${await value('kubepods.slice', 'memory.max')}, cpu.weight ${await value('kubepods.slice', 'cpu.weight')}`;
  });

  await check('QoS classes: least share for best effort, the sum of requests for burstable', async () => {
    await expectFiles('kubepods.slice/kubepods-besteffort.slice', { 'cpu.weight': '1' });
    await expectFiles('kubepods.slice/kubepods-burstable.slice', { 'cpu.weight': '4', 'memory.low': String(32 * MiB) });
    await expectFiles('kubepods.slice', { 'memory.min': String(96 * MiB) });
  });

  await check('a guaranteed pod: quota, memory and protected memory', async () => {
    const shown = await pod('guaranteed');
    const group = groupOf(shown, 'Guaranteed');
    await expectFiles(group, {
      'cpu.max': '20000 100000',
      'memory.max': String(64 * MiB),
      'pids.max': '300',
      'memory.min': String(64 * MiB),
    });
    const main = await mainGroup(shown, group);
    await expectFiles(main, { 'cpu.max': '20000 100000', 'memory.max': String(64 * MiB), 'memory.oom.group': '1' });
    return main.slice(main.lastIndexOf('/') + 1).slice(0, 32);
  });

  await check('a burstable pod: its requests as weight, its limits as bounds, a throttle between', async () => {
    const shown = await pod('burstable');
    const group = groupOf(shown, 'Burstable');
    await expectFiles(group, {
      'cpu.max': '30000 100000',
      'cpu.weight': '4',
      'memory.max': String(96 * MiB),
      'memory.low': String(32 * MiB),
    });
    const main = await mainGroup(shown, group);
    const high = Math.floor((32 + 0.9 * (96 - 32)) * MiB);
    await expectFiles(main, { 'memory.high': String(Math.floor(high / 4096) * 4096), 'memory.max': String(96 * MiB) });
    return `memory.high ${await value(main, 'memory.high')}`;
  });

  await check('a best-effort pod: no bound but the number of tasks', async () => {
    const group = groupOf(await pod('besteffort'), 'BestEffort');
    await expectFiles(group, { 'cpu.max': 'max 100000', 'cpu.weight': '1', 'memory.max': 'max', 'pids.max': '300', 'memory.min': '0' });
  });

  await check('oom_score_adj by class', async () => {
    for (const [name, wanted] of [
      ['guaranteed', '-997'],
      ['besteffort', '1000'],
    ] as const) {
      const qos = name === 'guaranteed' ? 'Guaranteed' : 'BestEffort';
      const shown = await pod(name);
      const main = await mainGroup(shown, groupOf(shown, qos));
      const pid = (await value(main, 'cgroup.procs')).split('\n')[0];
      expect(`oom_score_adj of ${name}`, (await run('cat', `/proc/${pid}/oom_score_adj`)).trim(), wanted);
    }
  });

  await check('systemd holds the same limits, also after a reload', async () => {
    const group = groupOf(await pod('guaranteed'), 'Guaranteed');
    const unit = group.slice(group.lastIndexOf('/') + 1);
    const properties = await unitProperties(unit, 'MemoryMax', 'TasksMax', 'CPUQuotaPerSecUSec', 'ActiveState');
    expect(unit, properties, { ActiveState: 'active', CPUQuotaPerSecUSec: '200ms', MemoryMax: String(64 * MiB), TasksMax: '300' });
    await run('systemctl', 'daemon-reload');
    await expectFiles(group, {
      'cpu.max': '20000 100000',
      'memory.max': String(64 * MiB),
      'pids.max': '300',
      'memory.min': String(64 * MiB),
    });
    await expectFiles('kubepods.slice/kubepods-burstable.slice', { 'cpu.weight': '4' });
    return unit;
  });
}
