/**
 * `npm start`: one node without an API server. A private containerd, the agent on examples/manifests, a table of the
 * pods; Ctrl-C ends all of it and leaves nothing behind. `npm start -- --help` for the options.
 */
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Registry } from './images/registry.ts';
import { containerLogsExist, removeLogLinks, removePods } from './node/removePods.ts';
import { type Agent, startAgent } from './node/startAgent.ts';
import { type PrivateContainerd, startContainerd } from './node/startContainerd.ts';
import { endSignal } from './start/endSignal.ts';
import { exampleRegistry } from './start/exampleRegistry.ts';
import { parseStartOptions, type StartOptions, USAGE } from './start/options.ts';
import { progress } from './start/progress.ts';
import { watchPods } from './start/watchPods.ts';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const output = process.stdout;
const { line, step } = progress(output);

const options = readOptions();
process.exitCode = await main(options, endSignal());

function readOptions(): StartOptions {
  try {
    const parsed = parseStartOptions(process.argv.slice(2), project);
    if (parsed !== 'help') return parsed;
    output.write(USAGE);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    process.exit(2);
  }
}

async function main(o: StartOptions, signal: AbortSignal): Promise<number> {
  const logLinksWere = await containerLogsExist();
  let containerd: PrivateContainerd | undefined;
  let agent: Agent | undefined;
  let registry: Registry | undefined;
  let code = 1;
  try {
    const example = await exampleRegistry();
    registry = example.registry;
    const { registries, dockerConfig } = example;
    containerd = await step('starting a containerd of our own', () => startContainerd({ log: (text) => line(`  ${text}`), registries }));
    signal.throwIfAborted();
    agent = await startAgent({ containerd, manifests: o.manifests, dockerConfig });
    const begun: Agent = agent;
    await step(`starting the agent on ${relative(process.cwd(), o.manifests) || '.'} (pid ${agent.pid()})`, () => begun.waitHealthy());
    if (!o.once) whereToLook(containerd, agent);
    const result = await watchPods({ agent, output, manifests: o.manifests, signal, once: o.once, timeoutMs: o.timeoutMs });
    if (o.once) code = report(result, signal.aborted);
    else {
      line('');
      code = agent.ended() === undefined ? 0 : 1;
      if (code !== 0) for (const fault of result.faults) line(`✗ ${fault}`);
    }
  } catch (error) {
    if (!signal.aborted) line(`✗ ${error instanceof Error ? error.message : String(error)}`);
  }
  const isClean = await clean(containerd, agent, logLinksWere);
  await registry?.[Symbol.asyncDispose]();
  return isClean ? code : 1;
}

function report(result: Awaited<ReturnType<typeof watchPods>>, interrupted: boolean): number {
  if (result.wanted === 0) line('✗ there is no manifest');
  else if (result.seconds !== undefined) {
    line(`${result.wanted}/${result.wanted} pods ready in ${result.seconds.toFixed(1)} s`);
    return 0;
  } else if (!interrupted) {
    line(`✗ ${result.ready}/${result.wanted} pods ready; not ready:`);
    for (const fault of result.faults) line(`    ${fault}`);
  }
  return 1;
}

function whereToLook(containerd: PrivateContainerd, agent: Agent): void {
  line(`
  pods           curl -s ${agent.url}/pods
  metrics        curl -s ${agent.url}/metrics
  health         curl ${agent.healthzUrl}
  agent's log    tail -f ${agent.logFile}
  containers     crictl --runtime-endpoint ${containerd.endpoint} ps
                 ctr --address ${containerd.socket} --namespace k8s.io containers ls
  their output   ${agent.podLogsDir}
  manifests      ${agent.manifests}   (change one, or add one, and watch)

Ctrl-C stops everything.
`);
}

/** Ends all that was started. False, with a message, when something stays. */
async function clean(containerd: PrivateContainerd | undefined, agent: Agent | undefined, logLinksWere: boolean): Promise<boolean> {
  let clean = true;
  const attempt = async (title: string, work: () => Promise<unknown>) => {
    try {
      await step(title, work);
    } catch (error) {
      clean = false;
      line(`✗ ${title}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  if (agent !== undefined) {
    const a = agent;
    await attempt('stopping the agent', () => a.kill('SIGTERM'));
  }
  if (containerd !== undefined) {
    const c = containerd;
    // Pods outlive their agent by design: they are stopped through the runtime.
    if (agent !== undefined) await attempt('stopping the pods', () => removePods(c.endpoint));
    await keepLogs(c, agent);
    await attempt('stopping containerd and removing mounts, network and control groups', () => c.stop());
  }
  if (agent !== undefined) await removeLogLinks(agent.podLogsDir, logLinksWere);
  if (clean) line(`Nothing is left of this run. Still there: ${await whatStays()}.`);
  return clean;
}

async function whatStays(): Promise<string> {
  const text = await readFile(join(project, '.cache/installed-packages'), 'utf8').catch(() => '');
  const packages = [...new Set(text.split('\n').filter(Boolean))];
  const installed = packages.length === 0 ? '' : `the Debian packages ${packages.join(', ')}, which the set-up installed; `;
  return `${installed}node_modules; .cache (example images, logs of the last run)`;
}

/** The logs of the last run stay readable after its folder is gone. */
async function keepLogs(containerd: PrivateContainerd, agent: Agent | undefined): Promise<void> {
  const folder = join(project, '.cache/last-run');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await copyFile(containerd.logFile, join(folder, 'containerd.log')).catch(() => {});
  if (agent === undefined) return;
  await copyFile(agent.logFile, join(folder, 'kubelet.log')).catch(() => {});
  await copyFile(agent.configFile, join(folder, 'config.yaml')).catch(() => {});
}
