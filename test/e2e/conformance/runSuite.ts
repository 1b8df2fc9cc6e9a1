import { spawn } from 'node:child_process';
import { access, cp, mkdir, readFile, rmdir, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cgroupHierarchies, createCgroup } from '../../../scripts/node/cgroups.ts';
import { cleanUpRun, cleanUpStaleRuns, leftovers } from '../../../scripts/node/cleanUpRun.ts';
import { parseContainerdVersion } from '../../../scripts/node/containerdConfig.ts';
import { processRef } from '../../../scripts/node/processes.ts';
import { registerRun } from '../../../scripts/node/registerRun.ts';
import { mustRun } from '../../../scripts/node/run.ts';
import { type RunRecord, writeRecord } from '../../../scripts/node/runRecord.ts';
import { mayLowerOomScore } from '../../../scripts/node/startContainerd.ts';
import { readReport, type SpecResult } from './results.ts';
import { SUITE_FILES, type SuiteProgress, type SuiteSettings } from './settings.ts';

const OVERLAYFS_MAGIC = 0x794c7630;
/** Mount points that the namespaces need, and folders that kubelets make: removed again when they were not there and are empty. */
const HOST_FOLDERS = [
  '/var/lib/kubelet',
  '/var/log/pods',
  '/var/log/containers',
  '/var/lib/cni',
  '/usr/libexec/kubernetes',
  '/usr/libexec/kubernetes/kubelet-plugins',
  '/usr/libexec/kubernetes/kubelet-plugins/volume',
  '/usr/libexec/kubernetes/kubelet-plugins/volume/exec',
];

export interface SuiteRunOptions {
  suite: string;
  ginkgo: string;
  images: string;
  kubelet: string;
  processes: number;
  focus: readonly string[];
  timeoutMinutes: number;
  featureGates?: string;
  /** Logs and reports are copied into this folder. */
  keep: string;
  signal: AbortSignal;
  progress(progress: SuiteProgress): void;
}

export interface SuiteRun {
  specs: SpecResult[];
  /** Why the results are worth nothing, if so. */
  faults: string[];
}

/** Runs the suite once in namespaces of its own and removes all that it made. Aborting interrupts it; what ran is reported. */
export async function runSuite(options: SuiteRunOptions): Promise<SuiteRun> {
  await cleanUpStaleRuns();
  const record = await registerRun('conformance');
  const before = await Promise.all(HOST_FOLDERS.map(exists));
  try {
    const settings = await suiteSettings(record.dir, options);
    await mkdir(record.dir, { recursive: true });
    await writeFile(join(record.dir, SUITE_FILES.settings), JSON.stringify(settings, null, 2));
    for (const folder of HOST_FOLDERS.slice(0, 4)) await mkdir(folder, { recursive: true });
    await createCgroup(record.cgroupRoot);
    const said = await enter(record, options);
    await cp(join(record.dir, 'report'), options.keep, { recursive: true }).catch(() => {});
    for (const name of [SUITE_FILES.log, SUITE_FILES.containerdLog, SUITE_FILES.restarts])
      await cp(join(record.dir, name), join(options.keep, name)).catch(() => {});
    const text = await readFile(join(record.dir, SUITE_FILES.report), 'utf8').catch(() => undefined);
    if (text === undefined) return { specs: [], faults: [`the suite left no report: ${await lastWords(record.dir, said)}`] };
    const { specs, setupFaults } = readReport(text);
    return { specs, faults: setupFaults };
  } finally {
    await cleanUpRun(record);
    for (const [i, folder] of [...HOST_FOLDERS.entries()].reverse()) if (!before[i]) await rmdir(folder).catch(() => {});
    await rmdir(dirname(dirname(record.dir))).catch(() => {});
    const left = await leftovers(record);
    if (left.length > 0) options.progress({ stage: `left behind: ${left.join(', ')}` });
  }
}

async function suiteSettings(dir: string, options: SuiteRunOptions): Promise<SuiteSettings> {
  const containerd = process.env['KTS_CONTAINERD'] ?? (await mustRun('which', ['containerd'])).trim();
  const version = parseContainerdVersion(await mustRun(containerd, ['--version']));
  if (version === undefined) throw new Error(`cannot read the version of ${containerd}`);
  const cniBinDir = (
    await Promise.all(['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'].map(async (d) => ((await exists(`${d}/bridge`)) ? d : '')))
  ).find(Boolean);
  if (cniBinDir === undefined) throw new Error('no CNI plugins found');
  await mkdir(dirname(dir), { recursive: true });
  const { suite, ginkgo, images, kubelet, processes, focus, timeoutMinutes, featureGates = '' } = options;
  return {
    dir,
    images,
    suite,
    ginkgo,
    kubelet,
    containerd,
    containerdVersion: version,
    cniBinDir,
    snapshotter: (await statfs(dirname(dir))).type === OVERLAYFS_MAGIC ? 'native' : 'overlayfs',
    restrictOomScoreAdj: !(await mayLowerOomScore()),
    processes,
    focus,
    timeoutMinutes,
    featureGates,
  };
}

/** Starts `inside.ts` as the only work of new namespaces and waits for its end. Resolves with what it said on standard error. */
async function enter(record: RunRecord, options: SuiteRunOptions): Promise<string> {
  const groups = (await cgroupHierarchies()).map((h) => join(h.mountpoint, record.cgroupRoot, 'cgroup.procs'));
  const inside = [process.execPath, join(import.meta.dirname, 'inside.ts'), record.dir];
  // Other people's programs may lie in /tmp: then the suite's files do, too.
  const needed = [...inside, options.suite, options.ginkgo, options.images, options.kubelet, record.dir];
  const privateTmp = needed.some((path) => path.startsWith('/tmp/')) ? 'no' : 'yes';
  const unshare = [
    'unshare',
    '--mount',
    '--net',
    '--pid',
    '--ipc',
    '--uts',
    '--cgroup',
    '--fork',
    '--kill-child',
    '--propagation',
    'private',
    '--',
  ];
  const command = [...unshare, join(import.meta.dirname, 'enter.sh'), record.dir, privateTmp, ...inside];
  // The kernel ends unshare when this process is killed, and unshare all of the namespaces.
  const script = 'n=$1; shift; while [ "$n" -gt 0 ]; do echo $$ > "$1" || exit 1; shift; n=$((n-1)); done; exec "$@"';
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'sh', '-c', script, 'sh', String(groups.length), ...groups, ...command], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = new Promise<void>((done, failed) => {
    child.once('error', failed);
    child.once('close', () => done());
  });
  const ref = child.pid === undefined ? undefined : await processRef(child.pid);
  if (ref !== undefined) {
    record.processes.push(ref);
    await writeRecord(record);
  }
  const stop = () => void child.stdin.end();
  options.signal.addEventListener('abort', stop);
  if (options.signal.aborted) stop();
  child.stdin.on('error', () => {});
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) options.progress(JSON.parse(line) as SuiteProgress);
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said = (said + chunk).slice(-4_000);
  });
  await ended;
  options.signal.removeEventListener('abort', stop);
  return said;
}

async function lastWords(dir: string, said: string): Promise<string> {
  const log = await readFile(join(dir, SUITE_FILES.log), 'utf8').catch(() => '');
  return `${said.trim()}\n${log.trimEnd().split('\n').slice(-20).join('\n')}`.trim();
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
