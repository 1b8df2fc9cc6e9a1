/**
 * `npm run cluster`: a Kubernetes API server, scheduler and controller-manager with kubelet-ts nodes, for a person to try.
 * Ctrl-C ends all of it and leaves nothing behind. `npm run cluster -- --help` for the options.
 */
import { rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, startCluster } from '../test/e2e/cluster/cluster.ts';
import { checkCluster } from './cluster/checkCluster.ts';
import { type ClusterCommand, parseClusterOptions, USAGE } from './cluster/options.ts';
import { endSignal } from './start/endSignal.ts';
import { progress } from './start/progress.ts';

const project = resolve(import.meta.dirname, '..');
const NODE_READY_SECONDS = 10;
const SCALE_TIMEOUT_MS = 300_000;
/** Logs of the last run stay readable after its folder is gone. */
const LOGS = join(project, '.cache/last-cluster');
const { line, step } = progress(process.stdout);

const command = readOptions();
process.exitCode = await main(command, endSignal());

function readOptions(): ClusterCommand {
  try {
    const parsed = parseClusterOptions(process.argv.slice(2), project);
    if (parsed !== 'help') return parsed;
    process.stdout.write(USAGE);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

async function main({ nodes, check, kubelet }: ClusterCommand, signal: AbortSignal): Promise<number> {
  let cluster: Cluster | undefined;
  let code = 1;
  await rm(LOGS, { recursive: true, force: true });
  try {
    cluster = await step('starting the control plane', () =>
      startCluster({ log: (text) => line(`  ${text}`), listen: nodes > 1 ? 'bridge' : 'loopback', keepLogs: LOGS }),
    );
    for (let i = 0; i < nodes && !signal.aborted; i++) await addNode(cluster, kubelet, nodes > 1);
    signal.throwIfAborted();
    if (check) {
      const result = await checkCluster(cluster, signal, SCALE_TIMEOUT_MS);
      const spread = Object.entries(result.byNode).map(([node, pods]) => `${node} ${pods}`);
      line(`deployment scaled to 30: all pods Ready in ${result.up.toFixed(1)} s (${spread.join(', ')})`);
      line(`deployment scaled to 0: all pods gone in ${result.down.toFixed(1)} s`);
      code = 0;
    } else {
      whatToTry(cluster);
      code = await untilTheEnd(cluster, signal);
    }
  } catch (error) {
    if (!signal.aborted) {
      line(`✗ ${error instanceof Error ? error.message : String(error)}`);
      if (cluster !== undefined) await whatIs(cluster);
    }
  }
  if (cluster === undefined) return 1;
  try {
    const running = cluster;
    await step('stopping the nodes and the control plane', () => running.stop());
    line(`Nothing is left of this run. Logs: ${relative(process.cwd(), LOGS)}`);
  } catch (error) {
    line(`✗ ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
  return code;
}

async function addNode(cluster: Cluster, kubelet: string, ownNetwork: boolean): Promise<void> {
  const node = await cluster.addNode({ kubelet, ownNetwork, keepLogs: LOGS });
  const seconds = await node.waitReady(30_000);
  if (seconds > NODE_READY_SECONDS) throw new Error(`${node.name} was Ready only after ${seconds.toFixed(1)} s`);
  line(`node ${node.name} Ready ${seconds.toFixed(1)} s after the start of its kubelet`);
}

function whatToTry(cluster: Cluster): void {
  const { kubectl } = cluster.binaries;
  line(`
  export KUBECONFIG=${cluster.kubeconfig}
  ${kubectl} get nodes -o wide
  ${kubectl} create deployment hello --image=registry.local/busybox:1 --replicas=3 -- sh -c 'while :; do date; sleep 1; done'
  ${kubectl} get pods -o wide -w
  ${kubectl} logs -f deployment/hello
  ${kubectl} exec -it deployment/hello -- sh

There is no image registry: the images are registry.local/busybox:1 and registry.local/pause:1, on every node.
${cluster.nodes.map((n) => `  ${n.name}: log ${n.agent.logFile}, runtime ${n.containerd.endpoint}`).join('\n')}

Ctrl-C stops everything.
`);
}

/** Waits for Ctrl-C; 1 when a kubelet or the API server ends before. */
async function untilTheEnd(cluster: Cluster, signal: AbortSignal): Promise<number> {
  while (!signal.aborted) {
    for (const node of cluster.nodes) {
      if (node.agent.ended() === undefined) continue;
      line(`✗ the kubelet of ${node.name} ended (${node.agent.ended()})`);
      return 1;
    }
    await cluster.apiserver.mustRun();
    await sleep(200);
  }
  return 0;
}

/** What a failed check leaves to look at. */
async function whatIs(cluster: Cluster): Promise<void> {
  for (const args of [
    ['get', 'nodes', '-o', 'wide'],
    ['get', 'pods', '-A', '-o', 'wide'],
    ['get', 'events', '--sort-by=.lastTimestamp'],
  ]) {
    const text = await cluster.kubectl(args, { timeoutMs: 10_000 }).catch((error: unknown) => String(error));
    for (const l of text.trimEnd().split('\n').slice(-40)) line(`    ${l}`);
  }
}
