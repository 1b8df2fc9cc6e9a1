import { access, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cniChains } from './iptables.ts';
import { bootId, claimRun, ownRef, type RunRecord, readRuns, runDir, writeRecord } from './runRecord.ts';
import { freeSubnet } from './subnets.ts';

const project = resolve(import.meta.dirname, '../..');

/**
 * Claims a run number and writes its record, so that all the run will make can be removed also after its owner is killed.
 * `name` is the folder that the run keeps its files in, below `parent` or below `.run/NUMBER` of the project.
 */
export async function registerRun(name: string, parent?: string): Promise<RunRecord> {
  const index = await claimRun();
  const own = join(project, '.run', String(index));
  const dir = join(resolve(parent ?? own), name);
  const others = (await readRuns()).flatMap((r) => (r.live && r.record !== undefined ? [r.record] : []));
  const record: RunRecord = {
    index,
    owner: await ownRef(),
    boot: await bootId(),
    dir,
    state: join(runDir(index), 'state'),
    socket: join(runDir(index), 'containerd.sock'),
    config: join(dir, 'config.toml'),
    network: `kts${index}`,
    bridge: `kts${index}`,
    subnet: await freeSubnet(index),
    cgroupRoot: `/kubelet-ts-${index}`,
    // What another live run brought is not "before": the last of them to stop removes it.
    chainsBefore: others[0]?.chainsBefore ?? (await cniChains()),
    forwardingWasOff: others[0]?.forwardingWasOff ?? (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).trim() === '0',
    shimDirWasAbsent: others[0]?.shimDirWasAbsent ?? !(await exists('/run/containerd')),
    processes: [],
    // The folder of a number is the run's own, with all that agents and tests put into it.
    folders: parent === undefined ? [own] : [],
  };
  await writeRecord(record);
  return record;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
