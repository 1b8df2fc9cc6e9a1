import { writeFile } from 'node:fs/promises';
import { call, KUBECONFIG, startApiServer } from './apiserver.ts';
import { expectFiles, groupOf, mainGroup, meminfo, value } from './groups.ts';
import { configuration, healthy, runningPod, shownPod, startWith } from './node.ts';
import { place, podOf, type Resources, SLEEP, unplace } from './pods.ts';
import { agentLog, check, expect, run, until } from './report.ts';

const PODS = '/api/v1/namespaces/default/pods';

interface ApiPod {
  status?: { phase?: string; reason?: string; message?: string; containerStatuses?: { ready: boolean; restartCount: number }[] };
}

const restarts = async (name: string) => (await shownPod(name))?.status?.containerStatuses?.[0]?.restartCount;
const apiPod = async (name: string) => (await call('GET', `${PODS}/${name}`)).body as ApiPod;

/** A pod of the API server on this node: those of manifests are critical, and never evicted. */
async function create(
  name: string,
  command: string,
  spec: { resources?: Resources; volumes?: object[]; volumeMounts?: object[] },
): Promise<void> {
  const { resources = {}, volumes = [], volumeMounts = [] } = spec;
  const pod = podOf(name, command, { resources, volumeMounts }, { nodeName: 'node', automountServiceAccountToken: false, volumes });
  const { status, body } = await call('POST', PODS, pod);
  expect(`creating ${name}: ${JSON.stringify(body).slice(0, 300)}`, status, 201);
}

async function configure(settings: Record<string, unknown>): Promise<void> {
  await writeFile('/var/lib/kubelet/config.yaml', configuration(settings), { mode: 0o600 });
  await run('systemctl', 'restart', 'kubelet');
  await healthy(120);
}

/** With swap on: pods of manifests are critical and never have any, so these come from the API server. */
async function limitedSwap(): Promise<string> {
  await run(
    'sh',
    '-c',
    'dd if=/dev/zero of=/swapfile bs=1M count=64 2>/dev/null && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile',
  );
  await configure({ memorySwap: { swapBehavior: 'LimitedSwap' } });
  const guaranteed = { cpu: '50m', memory: '32Mi' };
  await create('swaps', SLEEP, { resources: { requests: { memory: '64Mi' }, limits: { memory: '96Mi' } } });
  await create('stays', SLEEP, { resources: { requests: guaranteed, limits: guaranteed } });
  const swaps = await runningPod('swaps', 120);
  const stays = await runningPod('stays', 120);
  const share = Math.trunc(((64 * 1024 ** 2) / (await meminfo('MemTotal'))) * (await meminfo('SwapTotal')));
  const main = await mainGroup(swaps, groupOf(swaps, 'Burstable'));
  await expectFiles(main, { 'memory.swap.max': String(Math.floor(share / 4096) * 4096) });
  await expectFiles(await mainGroup(stays, groupOf(stays, 'Guaranteed')), { 'memory.swap.max': '0' });
  const { body } = await call('GET', '/api/v1/nodes/node');
  const { status } = body as { status?: { nodeInfo?: { swap?: { capacity?: number } } } };
  expect("the node's swap", status?.nodeInfo?.swap?.capacity, await meminfo('SwapTotal'));
  const told = `memory.swap.max ${await value(main, 'memory.swap.max')}`;
  for (const name of ['swaps', 'stays']) await call('DELETE', `${PODS}/${name}`);
  for (const name of ['swaps', 'stays'])
    await until(`${name} is gone`, 120, async () => (await call('GET', `${PODS}/${name}`)).status === 404);
  await run('swapoff', '/swapfile');
  return told;
}

/** Greed: a container over its limit, and a node that runs out of memory. */
export async function pressureChecks(): Promise<void> {
  await check('a container over its memory limit is killed as OOMKilled; its neighbours are not', async () => {
    const before = await restarts('guaranteed');
    // busybox's tail keeps its whole input.
    await place('greedy', 'sleep 2; (tail -c 200m /dev/zero | cat > /dev/null); while :; do sleep 1; done', {
      requests: { memory: '16Mi' },
      limits: { memory: '32Mi' },
    });
    const state = await until('the kill', 180, async () => {
      const status = (await shownPod('greedy'))?.status?.containerStatuses?.[0];
      return status?.state?.terminated ?? status?.lastState?.terminated;
    });
    expect('how it ended', { reason: state.reason, exitCode: state.exitCode }, { reason: 'OOMKilled', exitCode: 137 });
    expect('restarts of the guaranteed pod', await restarts('guaranteed'), before);
    await unplace('greedy');
    await until('the greedy pod is gone', 120, async () => (await shownPod('greedy')) === undefined);
  });

  const joined = await check('the node joins an API server', async () => {
    await startApiServer();
    await startWith(`--kubeconfig=${KUBECONFIG}`, '--node-ip=10.67.0.1');
    await until('the node', 180, async () => {
      const { body } = await call('GET', '/api/v1/nodes/node');
      const { status } = body as { status?: { conditions?: { type: string; status: string }[] } };
      if (status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True')) return true;
      throw new Error(`${JSON.stringify(body).slice(0, 200)}, ${(await agentLog(/^[EWF][0-9]{4} |crash/)).slice(-4).join(' / ')}`);
    });
  });
  if (!joined) return;
  await check('LimitedSwap: a burstable container has swap in proportion to its request, a guaranteed one none', limitedSwap);

  await check('memory pressure: the best-effort hog is evicted, a guaranteed pod beside it is not', async () => {
    const guaranteed = { cpu: '100m', memory: '64Mi' };
    await create('kept', SLEEP, { resources: { requests: guaranteed, limits: guaranteed } });
    await until('the guaranteed pod', 120, async () => (await apiPod('kept')).status?.containerStatuses?.[0]?.ready === true);
    const summary = (await (await fetch('http://127.0.0.1:10255/stats/summary')).json()) as {
      node: { memory: { availableBytes: number } };
    };
    const threshold = Math.floor(summary.node.memory.availableBytes / 1024 ** 2 - 250);
    const settings = { evictionHard: { 'memory.available': `${threshold}Mi` }, evictionPressureTransitionPeriod: '10s' };
    await configure(settings);
    await runningPod('guaranteed', 120);
    const began = performance.now();
    const volumes = [{ name: 'hog', emptyDir: { medium: 'Memory' } }];
    await create('hog', `dd if=/dev/zero of=/hog/data bs=1M count=400; ${SLEEP}`, {
      volumes,
      volumeMounts: [{ name: 'hog', mountPath: '/hog' }],
    });
    const pod = await until(`the eviction below ${threshold}Mi`, 240, async () => {
      const shown = await apiPod('hog');
      if (shown.status?.reason === 'Evicted') return shown;
      throw new Error(`the hog is ${shown.status?.phase}, ${(await agentLog(/evict|pressure/i)).slice(-3).join(' / ')}`);
    });
    expect('phase', pod.status?.phase, 'Failed');
    if (!/low on resource: memory/.test(pod.status?.message ?? '')) throw new Error(`message: ${pod.status?.message}`);
    const kept = (await apiPod('kept')).status;
    expect('the guaranteed pod', [kept?.phase, kept?.containerStatuses?.[0]?.restartCount], ['Running', 0]);
    return `${((performance.now() - began) / 1000).toFixed(0)} s after it was created: ${pod.status?.message?.slice(0, 120)}`;
  });
}
