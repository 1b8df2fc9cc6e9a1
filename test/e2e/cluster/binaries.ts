import { join } from 'node:path';
import { run, systemPath } from '../../../scripts/node/run.ts';
import { cacheDir, type GoTool, goTool, isExecutable, makeOnce } from './goTools.ts';

export interface ClusterBinaries {
  etcd: string;
  apiserver: string;
  scheduler: string;
  controllerManager: string;
  kubectl: string;
}

/** As envtest of controller-runtime: a variable for each program, then a folder with all of them. */
async function given(name: string): Promise<string | undefined> {
  const variable = `TEST_ASSET_${name.toUpperCase().replaceAll('-', '_')}`;
  const path = process.env[variable];
  if (path !== undefined && path !== '') {
    if (await isExecutable(path)) return path;
    throw new Error(`${variable}=${path} cannot be run`);
  }
  const folder = process.env['KUBEBUILDER_ASSETS'];
  if (folder === undefined || folder === '') return undefined;
  return (await isExecutable(join(folder, name))) ? join(folder, name) : undefined;
}

/** Finds the programs of a control plane; builds or fetches what is missing into the cache. */
export async function clusterBinaries(log: (line: string) => void = () => {}): Promise<ClusterBinaries> {
  const tool = async (name: GoTool) => (await given(name)) ?? (await goTool(name, log));
  const etcd = (await given('etcd')) ?? (await onPath('etcd')) ?? (await debianEtcd(log));
  // One after another: two Go builds side by side only get in each other's way.
  const apiserver = await tool('kube-apiserver');
  const scheduler = await tool('kube-scheduler');
  const controllerManager = await tool('kube-controller-manager');
  return { etcd, apiserver, scheduler, controllerManager, kubectl: await tool('kubectl') };
}

async function onPath(name: string): Promise<string | undefined> {
  for (const folder of systemPath.split(':')) if (await isExecutable(join(folder, name))) return join(folder, name);
  return undefined;
}

/** Only the program out of Debian's package: to install the package would start its service. */
async function debianEtcd(log: (line: string) => void): Promise<string> {
  const path = join(cacheDir(), 'etcd', 'etcd');
  if (await isExecutable(path)) return path;
  if ((await run('dpkg-deb', ['--version'])).code !== 0 || (await run('apt-get', ['--version'])).code !== 0)
    throw new Error('no etcd found: put one on PATH, or name one in TEST_ASSET_ETCD');
  const script = `set -e
    work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
    get() { apt-get -q -o APT::Sandbox::User=root download etcd-server; }
    get || { apt-get -q -o DPkg::Lock::Timeout=300 update; get; }
    dpkg-deb -x etcd-server_*.deb unpacked
    cp unpacked/usr/bin/etcd "$0"`;
  await makeOnce(path, ['sh', '-c', script, `${path}.new`], { title: "fetching etcd from Debian's package etcd-server", log });
  return path;
}
