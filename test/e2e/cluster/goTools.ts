import { spawn } from 'node:child_process';
import { access, constants, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { run, systemPath } from '../../../scripts/node/run.ts';

/** The version of Kubernetes that the tests run against; test/e2e/gotools/go.mod pins the same. */
export const KUBERNETES_VERSION = 'v1.37.2';

const MODULE = resolve(import.meta.dirname, '../gotools');
/** Programs that need other versions of the libraries have a module of their own below it. */
const OWN_MODULES: ReadonlySet<string> = new Set(['metrics-server']);
/** Where Go's own installer puts it, which PATH may lack. */
const GO_PATH = `${systemPath}:/usr/local/go/bin:/usr/lib/go/bin`;

/** Programs built from the Go module: name and package. */
const PACKAGES = {
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
  'e2e_node.test': 'k8s.io/kubernetes/test/e2e_node',
  ginkgo: 'github.com/onsi/ginkgo/v2/ginkgo',
  agnhost: 'k8s.io/kubernetes/test/images/agnhost',
  'sample-device-plugin': 'k8s.io/kubernetes/test/images/sample-device-plugin',
  'metrics-server': 'sigs.k8s.io/metrics-server/cmd/metrics-server',
} as const;

export type GoTool = keyof typeof PACKAGES;

/** What the tests build or fetch once for all checkouts: `KUBELET_TS_CACHE`, else below the user's cache folder. */
export function cacheDir(): string {
  return process.env['KUBELET_TS_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kubelet-ts');
}

export const goToolsDir = () => join(cacheDir(), 'go', KUBERNETES_VERSION);

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The path of a program of Kubernetes, built now when the cache lacks it: minutes the first time, which `log` is told of. */
export async function goTool(name: GoTool, log: (line: string) => void = () => {}): Promise<string> {
  const path = join(goToolsDir(), name);
  if (await isExecutable(path)) return path;
  await requireGo(path);
  const ldflags = `-s -w -X k8s.io/component-base/version.gitVersion=${KUBERNETES_VERSION}`;
  const isTest = name.endsWith('.test');
  const build = ['go', ...(isTest ? ['test', '-c'] : ['build', '-ldflags', ldflags]), '-v', '-o', `${path}.new`, PACKAGES[name]];
  const cwd = OWN_MODULES.has(name) ? join(MODULE, name) : MODULE;
  await makeOnce(path, build, { cwd, title: `building ${name} ${KUBERNETES_VERSION}`, log });
  return path;
}

/** Rejects when there is no Go to build the program `path`. */
export async function requireGo(path: string): Promise<void> {
  if ((await run('go', ['version'], { env: { PATH: GO_PATH } })).code === 0) return;
  throw new Error(`${path} is not there and there is no Go to build it: install Go 1.26 or later (https://go.dev/dl)`);
}

/** The folder that Go unpacked the sources of a module of go.mod into. */
export async function goModuleDir(module: string): Promise<string> {
  const env = { PATH: GO_PATH, GOWORK: 'off' };
  const found = await run('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd: MODULE, env, timeoutMs: 300_000 });
  if (found.stdout.trim() !== '') return found.stdout.trim();
  const fetched = await run('go', ['mod', 'download', module], { cwd: MODULE, env, timeoutMs: 600_000 });
  const again = await run('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd: MODULE, env });
  if (again.stdout.trim() === '') throw new Error(`cannot fetch the Go module ${module}: ${fetched.stderr}${again.stderr}`);
  return again.stdout.trim();
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

export interface MakeOptions {
  cwd?: string;
  env?: Readonly<Record<string, string>>;
  title: string;
  log: (line: string) => void;
}

/**
 * Makes the file `path` by a command that writes `path`.new, unless it exists. Of several processes that want it one does
 * the work and the others wait; the kernel frees the lock when the one is killed. Each line of the command's standard
 * error counts as progress.
 */
export async function makeOnce(path: string, command: readonly string[], options: MakeOptions): Promise<void> {
  if (await exists(path)) return;
  await mkdir(resolve(path, '..'), { recursive: true });
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 1000);
  const script = '[ -e "$0" ] || { echo started >&2; "$@" && mv "$0.new" "$0"; }';
  const said: string[] = [];
  options.log(options.title);
  const child = spawn('flock', [`${path}.lock`, 'sh', '-c', script, path, ...command], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, PATH: GO_PATH, CGO_ENABLED: '0', GOWORK: 'off', ...options.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let lines = 0;
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    lines += chunk.split('\n').length - 1;
    said.push(chunk);
    if (said.length > 40) said.shift();
  });
  const timer = setInterval(() => {
    const state = lines === 0 ? 'another process is at it, waiting' : `${lines - 1} steps done`;
    options.log(`  … ${options.title}: ${seconds()} s, ${state}`);
  }, 10_000);
  const code = await new Promise<number | null>((done, failed) => {
    child.once('error', failed);
    child.once('close', done);
  }).finally(() => clearInterval(timer));
  if (code !== 0) throw new Error(`${options.title} failed (exit ${code}):\n${said.join('').trim().slice(-4_000)}`);
  options.log(`${options.title}: ${seconds()} s`);
}
