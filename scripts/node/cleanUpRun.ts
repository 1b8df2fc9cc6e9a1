import { readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { cgroupFolders, cgroupHierarchies, pidsInCgroups, removeCgroup, thawCgroups } from './cgroups.ts';
import { cleanUpIptables, cniChains, iptablesLeft } from './iptables.ts';
import { mountsBelow, unmountBelow } from './mounts.ts';
import { endProcesses, findProcesses, isAlive, type ProcessRef, processRef } from './processes.ts';
import { run } from './run.ts';
import { RUNS_DIR, type RunRecord, readRuns, runDir, withCleanUpLock } from './runRecord.ts';

const FORWARDING = '/proc/sys/net/ipv4/ip_forward';
/** containerd 1.x and 2.x put the sockets of shims here whatever their state folder is. */
const SHIM_SOCKETS = '/run/containerd/s';
/** libcni's result cache, likewise fixed. */
const CNI_CACHE = '/var/lib/cni';

/** Processes of the run that is described: containerd, its shims and runc, and what `record.processes` names. */
async function runtimeProcesses(record: RunRecord): Promise<ProcessRef[]> {
  const found = await findProcesses((argv) => {
    const program = basename(argv[0] ?? '');
    if (program.startsWith('containerd')) return argv.includes(record.config) || argv.includes(record.socket);
    return program === 'runc' && argv.some((a) => a === record.state || a.startsWith(`${record.state}/`));
  });
  for (const ref of record.processes) if (await isAlive(ref)) found.push(ref);
  return found;
}

interface Task {
  id: string;
  pid: number | undefined;
  shimSocket: string | undefined;
}

/** The containers whose bundles lie in the state folder. */
async function tasks(record: RunRecord): Promise<Task[]> {
  const found: Task[] = [];
  for (const namespace of ['k8s.io', 'default']) {
    const folder = join(record.state, 'io.containerd.runtime.v2.task', namespace);
    for (const id of await readdir(folder).catch(() => [])) {
      const pid = Number(await readFile(join(folder, id, 'init.pid'), 'utf8').catch(() => ''));
      const address = await readFile(join(folder, id, 'address'), 'utf8').catch(() => '');
      found.push({ id, pid: pid > 1 ? pid : undefined, shimSocket: /unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)/.exec(address)?.[1] });
    }
  }
  return found;
}

/** Cgroup names of containers that were made without a parent cgroup: `/NAMESPACE/ID`. */
const looseCgroups = (all: readonly Task[]) => all.flatMap((t) => [`/k8s.io/${t.id}`, `/default/${t.id}`]);

/** Ends every process of the run: containers first, so that nothing restarts or outlives its shim. */
async function endEverything(record: RunRecord, all: readonly Task[]): Promise<void> {
  // The daemon and the agent first: they would answer the containers' death with new work.
  await endProcesses(await daemons(record), 0);
  for (let round = 0; round < 5; round++) {
    const folders = await cgroupFolders(record.cgroupRoot);
    for (const name of looseCgroups(all)) folders.push(...(await cgroupFolders(name)));
    await thawCgroups(folders);
    const pids = new Set(await pidsInCgroups(folders));
    for (const t of all) if (t.pid !== undefined && (await belongsTo(t.pid, t.id, record.cgroupRoot))) pids.add(t.pid);
    const refs = (await Promise.all([...pids].map(processRef))).filter((r) => r !== undefined);
    if (refs.length === 0) break;
    await endProcesses(refs, 0);
  }
  await endProcesses(await runtimeProcesses(record), 0);
}

async function daemons(record: RunRecord): Promise<ProcessRef[]> {
  const found = await findProcesses((argv) => basename(argv[0] ?? '') === 'containerd' && argv.includes(record.config));
  for (const ref of record.processes) if (await isAlive(ref)) found.push(ref);
  return found;
}

/** Guards against a pid that was used again: the process must sit in a cgroup of that container. */
async function belongsTo(pid: number, id: string, cgroupRoot: string): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  return text.includes(`/${id}`) || text.includes(`:${cgroupRoot}/`);
}

/**
 * Removes all that a run made, from outside and by force: processes, mounts, network namespaces (they are mounts of the
 * state folder), bridge, iptables rules and chains, cgroups, folders. Restores IP forwarding when no other run lives.
 */
export async function cleanUpRun(record: RunRecord): Promise<void> {
  const all = await tasks(record);
  await endEverything(record, all);
  await unmountBelow([record.state, record.dir, ...record.folders]);
  // The bridge, and the cables of nodes in network namespaces, which the kernel takes away only some time after those.
  for (const link of await readdir('/sys/class/net').catch(() => []))
    if (link === record.bridge || link.startsWith(`${record.bridge}n`)) await run('ip', ['link', 'del', link]);
  await cleanUpIptables(
    record.network,
    (await cniChains()).filter((c) => !record.chainsBefore.includes(c)),
  );
  for (const name of [...looseCgroups(all), record.cgroupRoot]) await removeCgroup(name);
  await removeEmptyRuntimeCgroups();
  for (const t of all) if (t.shimSocket !== undefined) await rm(t.shimSocket, { force: true });
  await removeCniResults(record.network);
  for (const folder of [record.dir, ...record.folders]) await rm(folder, { recursive: true, force: true });
  // Of the folder above only our part is ours; it goes when nothing else is in it.
  await rmdir(dirname(record.dir)).catch(() => {});
  const others = (await readRuns()).filter((r) => r.live && r.index !== record.index);
  if (others.length === 0) {
    if (record.forwardingWasOff) await writeFile(FORWARDING, '0').catch(() => {});
    for (const folder of [join(CNI_CACHE, 'results'), CNI_CACHE]) await rmdir(folder).catch(() => {});
    if (record.shimDirWasAbsent) for (const folder of [SHIM_SOCKETS, '/run/containerd']) await rmdir(folder).catch(() => {});
  }
  await rm(runDir(record.index), { recursive: true, force: true });
  await rmdir(RUNS_DIR).catch(() => {}); // fails while other runs are registered
}

/** Cached results are named NETWORK-SANDBOX-INTERFACE; the loopback network's carry our sandboxes' ids only. */
async function removeCniResults(network: string): Promise<void> {
  const folder = join(CNI_CACHE, 'results');
  const names = await readdir(folder).catch(() => []);
  const sandboxes = names.filter((n) => n.startsWith(`${network}-`)).map((n) => n.split('-')[1] ?? '');
  for (const name of names) if (sandboxes.some((id) => name.includes(`-${id}-`))) await rm(join(folder, name), { force: true });
}

/** `/k8s.io` and `/default` are containerd's; an empty one is nobody's. */
async function removeEmptyRuntimeCgroups(): Promise<void> {
  for (const h of await cgroupHierarchies())
    for (const name of ['k8s.io', 'default']) await rmdir(join(h.mountpoint, name)).catch(() => {});
}

/** What of the run is still on the machine: one line each, empty when all is gone. */
export async function leftovers(record: RunRecord): Promise<string[]> {
  const left: string[] = [];
  for (const p of await runtimeProcesses(record)) left.push(`process ${p.pid}`);
  for (const m of await mountsBelow([record.state, record.dir, ...record.folders])) left.push(`mount ${m}`);
  for (const c of await cgroupFolders(record.cgroupRoot)) left.push(`cgroup ${c}`);
  if ((await run('ip', ['link', 'show', record.bridge])).code === 0) left.push(`bridge ${record.bridge}`);
  left.push(
    ...(await iptablesLeft(
      record.network,
      (await cniChains()).filter((c) => !record.chainsBefore.includes(c)),
    )),
  );
  for (const folder of [record.state, record.dir, ...record.folders]) {
    if ((await readdir(folder).catch(() => undefined)) !== undefined) left.push(`folder ${folder}`);
  }
  return left;
}

/** Cleans up after runs whose owner died without doing so. Returns one line for each. */
export async function cleanUpStaleRuns(): Promise<string[]> {
  const done: string[] = [];
  for (const found of await readRuns()) {
    if (found.live) continue;
    await withCleanUpLock(found.index, async () => {
      if (found.record === undefined) await rm(runDir(found.index), { recursive: true, force: true });
      else await cleanUpRun(found.record);
      done.push(
        `removed what an earlier run left (number ${found.index}${found.record === undefined ? '' : `, pid ${found.record.owner.pid}`})`,
      );
    });
  }
  return done;
}
