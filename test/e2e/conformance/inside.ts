/**
 * Runs the suite once, in the namespaces that `enter.sh` has made: `node inside.ts FOLDER`. Starts an image registry,
 * containerd and the suite, which starts the kubelet. Tells its progress as JSON lines. When standard input ends (the
 * starter wants it, or is dead), the suite is interrupted and still reports; ten seconds later all ends.
 */
import { spawn } from 'node:child_process';
import { chmod, mkdir, open, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { cgroupHierarchies, createCgroup } from '../../../scripts/node/cgroups.ts';
import { cniConfig, containerdConfig } from '../../../scripts/node/containerdConfig.ts';
import { criReady } from '../../../scripts/node/criReady.ts';
import { mustRun, run } from '../../../scripts/node/run.ts';
import { BUSYBOX_BY_DIGEST, SUITE_PAUSE_IMAGE } from './images/suiteImages.ts';
import { serveRegistry } from './registry.ts';
import { kubeletConfig, NODE_ADDRESS, SUITE_FILES, type SuiteProgress, type SuiteSettings } from './settings.ts';
import { specProgress } from './specProgress.ts';

const REGISTRY_PORT = 5055;
const SOCKET = '/run/containerd/containerd.sock';
const PID_FILE = '/run/containerd/containerd.pid';

const dir = process.argv[2] ?? '';
const settings = JSON.parse(await readFile(join(dir, SUITE_FILES.settings), 'utf8')) as SuiteSettings;
const tell = (progress: SuiteProgress) => void process.stdout.write(`${JSON.stringify(progress)}\n`);
const stop = new AbortController();
process.stdin.on('data', () => {});
process.stdin.once('end', () => stop.abort());

Object.assign(process.env, {
  PATH: `${join(import.meta.dirname, 'shims')}:${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`,
  KTS_UNITS: join(dir, 'units'),
  HOME: dir,
});
for (const name of ['http_proxy', 'https_proxy', 'no_proxy']) for (const n of [name, name.toUpperCase()]) delete process.env[n];

tell({ stage: 'starting the image registry and containerd' });
await Promise.all(['units', 'report', 'work', 'bin'].map((name) => mkdir(join(dir, name), { recursive: true })));
await serveRegistry(settings.images, REGISTRY_PORT);
await startContainerd();
await importByDigest();
void keepImported();
await countTraffic();
tell({ stage: 'starting the suite' });
process.exit(await runSuite());

async function startContainerd(): Promise<void> {
  const folder = join(dir, 'containerd');
  const registryDir = join(folder, 'certs.d');
  for (const name of ['registry.k8s.io', 'gcr.io', 'docker.io']) {
    await mkdir(join(registryDir, name), { recursive: true });
    const url = `http://127.0.0.1:${REGISTRY_PORT}`;
    await writeFile(join(registryDir, name, 'hosts.toml'), `server = "${url}"\n[host."${url}"]\n  capabilities = ["pull", "resolve"]\n`);
  }
  const cniConfDir = join(folder, 'cni');
  await mkdir(cniConfDir, { recursive: true });
  const network = { network: 'e2e', bridge: 'e2ebr0', subnet: '10.89.0.0/16', dataDir: join(folder, 'cni-data'), portMappings: true };
  await writeFile(join(cniConfDir, '10-e2e.conflist'), cniConfig(network));
  const config = containerdConfig({
    version: settings.containerdVersion,
    root: join(folder, 'root'),
    state: '/run/containerd/state',
    socket: SOCKET,
    pauseImage: SUITE_PAUSE_IMAGE,
    cniBinDir: settings.cniBinDir,
    cniConfDir,
    registryDir,
    restrictOomScoreAdj: settings.restrictOomScoreAdj,
    snapshotter: settings.snapshotter,
  });
  const file = join(folder, 'config.toml');
  await writeFile(file, config);
  // A group of its own, as a service manager would give it: the kubelet is told of it by --runtime-cgroups.
  await createCgroup('/containerd');
  await countDiskUse();
  const folders = (await cgroupHierarchies()).map((h) => join(h.mountpoint, 'containerd/cgroup.procs'));
  const log = await open(join(dir, SUITE_FILES.containerdLog), 'a');
  const script = 'bin=$1 config=$2; shift 2; for f in "$@"; do echo $$ > "$f"; done; exec "$bin" --config "$config"';
  const child = spawn('sh', ['-c', script, 'sh', settings.containerd, file, ...folders], { stdio: ['ignore', log.fd, log.fd] });
  await writeFile(PID_FILE, String(child.pid));
  const end = performance.now() + 60_000;
  while (!(await criReady(SOCKET))) {
    if (child.exitCode !== null || performance.now() > end) throw new Error(`containerd does not answer: see ${SUITE_FILES.containerdLog}`);
    await sleep(50);
  }
}

/** From Linux 6.10 on a v1 group counts its disk use only once a throttle rule exists for the disk: one that never bites. */
async function countDiskUse(): Promise<void> {
  const { dev } = await stat(dir);
  const rule = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)} 1000000000000`;
  await writeFile('/sys/fs/cgroup/blkio/containerd/blkio.throttle.write_bps_device', rule).catch(() => {});
}

function ctr(...args: string[]): Promise<string> {
  return mustRun('ctr', ['--address', SOCKET, '--namespace', 'k8s.io', ...args]);
}

function importByDigest(): Promise<string> {
  return ctr('images', 'import', join(settings.images, 'busybox-by-digest.tar'));
}

/** Specs of the image collector remove all images and then want to pull this one again. */
async function keepImported(): Promise<void> {
  for (;;) {
    await sleep(2_000);
    if ((await ctr('images', 'ls', '-q', `name==${BUSYBOX_BY_DIGEST}`).catch(() => 'unknown')).trim() === '')
      await importByDigest().catch(() => {});
  }
}

/** The Summary API's spec wants an interface of the node that has received more than a megabyte. */
async function countTraffic(): Promise<void> {
  const server = createServer((socket) => socket.on('error', () => {}).resume());
  await new Promise<void>((done) => server.listen(0, NODE_ADDRESS, done));
  const { port } = server.address() as { port: number };
  const script = `exec 3<>/dev/tcp/${NODE_ADDRESS}/${port}; head -c 3000000 /dev/zero >&3`;
  await run('ip', ['netns', 'exec', 'gateway', 'bash', '-c', script], { timeoutMs: 20_000 });
  server.close();
}

/** Resolves with the exit code of the suite. */
async function runSuite(): Promise<number> {
  // The suite takes the kubelet from the folder that it is itself called in.
  const suite = join(dir, 'bin/e2e_node.test');
  await symlink(settings.suite, suite);
  await writeFile(join(dir, 'bin/kubelet'), `#!/bin/sh\nexec '${settings.kubelet}' "$@"\n`);
  await chmod(join(dir, 'bin/kubelet'), 0o755);
  await writeFile(join(dir, 'kubelet-config.yaml'), stringify(kubeletConfig));
  const gates =
    settings.featureGates === '' ? [] : [`--feature-gates=${settings.featureGates}`, `--service-feature-gates=${settings.featureGates}`];
  const args = [
    `--nodes=${settings.processes}`,
    '--no-color',
    '-v',
    `--timeout=${settings.timeoutMinutes}m`,
    `--output-dir=${join(dir, 'report')}`,
    '--json-report=report.json',
    ...settings.focus.map((f) => `--focus=${f}`),
    suite,
    '--',
    `--container-runtime-endpoint=unix://${SOCKET}`,
    `--kubelet-config-file=${join(dir, 'kubelet-config.yaml')}`,
    `--report-dir=${join(dir, 'report')}`,
    '--node-name=e2enode',
    `--container-runtime-process-name=${settings.containerd}`,
    `--container-runtime-pid-file=${PID_FILE}`,
    '--server-start-timeout=120s',
    '-v=2',
    ...gates,
    '--kubelet-flags=--runtime-cgroups=/containerd',
  ];
  const log = await open(join(dir, SUITE_FILES.log), 'a');
  const progress = specProgress(tell);
  const child = spawn(settings.ginkgo, args, { cwd: join(dir, 'work'), stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      void log.write(chunk);
      progress(chunk.toString());
    });
  }
  stop.signal.addEventListener('abort', () => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
    setTimeout(() => process.exit(130), 10_000).unref();
  });
  const code = await new Promise<number>((done) => child.once('close', (c) => done(c ?? 1)));
  await log.close();
  return code;
}
