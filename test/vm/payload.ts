import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { exampleImages } from '../../scripts/images/exampleImages.ts';
import { mustRun } from '../../scripts/node/run.ts';
import { clusterBinaries } from '../e2e/cluster/binaries.ts';

const project = resolve(import.meta.dirname, '../..');
const RUN = `#!/bin/sh
exec /payload/kubelet-ts/node --disable-warning=ExperimentalWarning /payload/test/vm/guest/main.ts > /dev/ttyS1 2>&1
`;

/** Makes the disk that the guest runs: the built agent with its Node, the images, and the checks, or only those parts of them. */
export async function makePayload(folder: string, only: readonly string[], log: (line: string) => void): Promise<string> {
  const tree = join(folder, 'payload');
  const agent = join(tree, 'kubelet-ts');
  await mkdir(agent, { recursive: true });
  log('building the agent');
  await mustRun(process.execPath, [join(project, 'scripts/build.ts')], { cwd: project, timeoutMs: 600_000 });
  await cp(join(project, 'dist'), join(agent, 'dist'), { recursive: true });
  await cp(join(project, 'bin'), join(agent, 'bin'), { recursive: true });
  await cp(process.execPath, join(agent, 'node'), { dereference: true });
  const { archive } = await exampleImages(log);
  await cp(archive, join(tree, 'images.tar'));
  const { etcd, apiserver } = await clusterBinaries(log);
  await mkdir(join(tree, 'programs'));
  await cp(etcd, join(tree, 'programs/etcd'), { dereference: true });
  await cp(apiserver, join(tree, 'programs/kube-apiserver'), { dereference: true });
  // The checks import nothing but Node's own modules and each other.
  await cp(join(import.meta.dirname, 'guest'), join(tree, 'test/vm/guest'), { recursive: true });
  await cp(join(project, 'deploy'), join(tree, 'deploy'), { recursive: true });
  await writeFile(join(tree, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(tree, 'only'), only.join(' '));
  await writeFile(join(tree, 'run'), RUN, { mode: 0o755 });
  const disk = join(folder, 'payload.ext4');
  await mustRun('mke2fs', ['-q', '-t', 'ext4', '-d', tree, disk, '1G'], { timeoutMs: 300_000 });
  return disk;
}
