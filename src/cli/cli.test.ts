import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));
const project = fileURLToPath(new URL('../../', import.meta.url));

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the program as a user does, from the project's folder. */
function kubelet(...args: string[]): Promise<Result> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...args], { cwd: project }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}

let dir = '';
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kts-cli-'));
});
after(() => rm(dir, { recursive: true, force: true }));

test('version', async () => {
  for (const args of [['--version'], ['--version=true'], ['--v=2', '--version'], ['version']]) {
    assert.deepEqual(await kubelet(...args), { code: 0, stdout: 'Kubernetes v1.37.2\n', stderr: '' }, args.join(' '));
  }
  assert.match((await kubelet('--version=raw')).stdout, /^version\.Info\{Major:"1", Minor:"37", GitVersion:"v1\.37\.2"/);
  assert.match((await kubelet('version', '--long')).stdout, /^Kubernetes v1\.37\.2\nkubelet-ts \d+\.\d+\.\d+ \(node v\d+/);
  assert.equal((await kubelet('version', '--nope')).code, 1);
});

test('help lists every flag in groups', async () => {
  const { code, stdout } = await kubelet('--help');
  assert.equal(code, 0);
  for (const part of ['Flags of the process:', 'Logging:', '--pod-manifest-path', '--node-labels', '--vmodule', 'config check']) {
    assert.ok(stdout.includes(part), part);
  }
  assert.equal((await kubelet('config', '--help')).code, 0);
});

test('config check says all that is wrong with the bad example, each with its place', async () => {
  const { code, stdout, stderr } = await kubelet('config', 'check', 'examples/bad-config.yaml');
  assert.equal(code, 1);
  assert.equal(stdout, '');
  const lines = stderr.trimEnd().split('\n');
  const errors = lines.filter((line) => !line.startsWith('warning: ') && !/^\d+ errors$/.test(line));
  assert.deepEqual(
    errors.map((line) => /^examples\/bad-config\.yaml:(\d+:\d+: [^:]+):/.exec(line)?.[1] ?? line),
    [
      '7:10: maxPods',
      '8:13: failSwapOn',
      '9:16: syncFrequency',
      '10:13: clusterDNS',
      '11:14: oomScoreAdj',
      '14:14: authentication.anonymous.enabled',
      '16:23: topologyManagerScope',
      '28:7: port',
      '30:29: imageGCLowThresholdPercent',
      '31:13: podLogsDir',
      '32:14: hairpinMode',
      '33:19: cpuManagerPolicy',
      '34:21: reservedSystemCPUs',
      '35:32: kubeReservedCgroup',
      '35:47: enforceNodeAllocatable[2]',
      '36:22: shutdownGracePeriod',
      '37:23: containerLogMaxFiles',
      '38:22: containerLogMaxSize',
      '40:24: maxParallelImagePulls',
      '41:16: tlsMinVersion',
      '44:5: tlsCipherSuites[1]',
      '47:16: evictionHard[nodefs.free]',
      '49:21: evictionSoft[memory.available]',
      '49:21: evictionSoft[memory.available]',
      '51:8: kubeReserved[cpu]',
      '52:8: kubeReserved[gpu]',
      '57:10: registerWithTaints[1].key',
      '61:33: reservedMemory[0].limits[cpu]',
      '62:30: userNamespaces.idsPerPod',
      '64:11: logging.format',
      '66:5: logging.vmodule',
      '66:22: logging.vmodule[0].filePattern',
      '67:22: tracing.endpoint',
      '71:30: featureGates[KubeletCrashLoopBackofMax]',
      '72:13: featureGates[NodeSwap]',
    ],
  );
  assert.deepEqual(
    lines.filter((line) => line.startsWith('warning: ')).map((line) => line.split(': ')[1]),
    ['examples/bad-config.yaml:25:1', 'examples/bad-config.yaml:19:1', 'examples/bad-config.yaml:21:3'],
  );
  assert.equal(lines.at(-1), '35 errors');
});

test('config check: good files, several files, --strict, drop-ins', async () => {
  assert.deepEqual(await kubelet('config', 'check', 'examples/config.yaml'), { code: 0, stdout: 'examples/config.yaml: ok\n', stderr: '' });
  const header = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
  const odd = join(dir, 'odd.yaml');
  await writeFile(odd, `${header}maxPodz: 5\n`);
  const lenient = await kubelet('config', 'check', odd);
  assert.equal(lenient.code, 0);
  assert.match(lenient.stderr, /^warning: .*odd\.yaml:3:1: unknown field "maxPodz" is ignored \(did you mean maxPods\?\)\n$/);
  const strict = await kubelet('config', 'check', '--strict', odd, 'examples/config.yaml');
  assert.equal(strict.code, 1);
  assert.equal(strict.stdout, 'examples/config.yaml: ok\n');
  assert.match(strict.stderr, /odd\.yaml:3:1: unknown field "maxPodz"/);
  await mkdir(join(dir, 'd'));
  await writeFile(join(dir, 'd', '10.conf'), `${header}port: 0\nmaxPods: -4\n`);
  const merged = await kubelet('config', 'check', 'examples/config.yaml', '--config-dir', join(dir, 'd'));
  assert.match(merged.stderr, /10\.conf:4:10: maxPods: -4: must be at least 0\n1 error\n$/);
  assert.equal((await kubelet('config', 'check', join(dir, 'd', '10.conf'))).code, 1);
});

test('config check: a folder, no file, a binary file', async () => {
  const binary = join(dir, 'binary');
  await writeFile(binary, Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1]));
  await writeFile(join(dir, 'empty'), '');
  await writeFile(join(dir, 'huge'), Buffer.alloc(20 << 20, 0x20));
  const { code, stderr } = await kubelet('config', 'check', dir, join(dir, 'missing'), binary, join(dir, 'empty'), join(dir, 'huge'));
  assert.equal(code, 1);
  assert.match(stderr, /: is a directory/);
  assert.match(stderr, /missing: does not exist/);
  assert.match(stderr, /binary:1:1: this is a binary file/);
  assert.match(stderr, /empty:1:1: the file is empty/);
  assert.match(stderr, /huge:1:1: \d+ bytes are more than/);
  assert.match(stderr, /5 errors\n$/);
});

test('config show prints what is in force and where it comes from', async () => {
  const { code, stdout } = await kubelet('config', 'show', '--origin', '--config=examples/config.yaml', '-v3', '--max-pods', '20');
  assert.equal(code, 0);
  assert.match(stdout, /^maxPods: 20 +# flag --max-pods$/m);
  assert.match(stdout, /^readOnlyPort: 10255 +# file examples\/config\.yaml:\d+:\d+$/m);
  assert.match(stdout, /^ {2}verbosity: 3 +# flag --v$/m);
  assert.match(stdout, /^port: 10250 +# default$/m);
  const json = await kubelet('config', 'show', '--output=json', '--max-pods=20');
  assert.equal((JSON.parse(json.stdout) as Record<string, unknown>)['maxPods'], 20);
  const bad = await kubelet('config', 'show', '--max-pod=20');
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, /^--max-pod: unknown flag \(did you mean --max-pods\?\)$/m);
});

test('commands that do not exist', async () => {
  assert.equal((await kubelet('config')).code, 1);
  assert.equal((await kubelet('config', 'chek')).code, 1);
  const run = await kubelet('run', '--max-pods=x', '--nosuch');
  assert.equal(run.code, 1);
  assert.equal(run.stdout, '');
  assert.match(run.stderr, /"run": is no command/);
  assert.match(run.stderr, /--max-pods: maxPods: "x": must be a whole number/);
  assert.match(run.stderr, /--nosuch: unknown flag/);
});
