import type { Files } from '../host/files.ts';
import type { Tools } from '../host/tools.ts';
import { VolumeError } from './volume-error.ts';

/** A loop device over a file: the one that there is, or a new one. */
export async function attachLoop(tools: Tools, file: string): Promise<string> {
  const [known] = await loopsOf(tools, file);
  if (known !== undefined) return known;
  const { code, stdout, stderr } = await tools.run('losetup', ['--find', '--show', '--', file]);
  if (code !== 0) throw new VolumeError('host', `cannot make ${file} a block device: losetup: ${stderr.trim()}`);
  return stdout.trim();
}

/**
 * Frees the loop device that a link of a pod leads to, unless the link of another pod leads there too. `link` is
 * {root}/pods/{uid}/volumeDevices/{plug-in}/{volume}.
 */
export async function detachLoopsOf({ files, tools }: { files: Files; tools: Tools }, link: string): Promise<void> {
  const device = await files.readlink(link).catch(() => '');
  if (!/^\/dev\/loop\d+$/.test(device)) return;
  const parts = link.split('/');
  const podsDir = parts.slice(0, -4).join('/');
  const [own, ...below] = parts.slice(-4);
  for (const { name } of await files.list(podsDir)) {
    if (name === own) continue;
    if ((await files.readlink([podsDir, name, ...below].join('/')).catch(() => '')) === device) return;
  }
  const { code, stderr } = await tools.run('losetup', ['--detach', device]);
  if (code !== 0 && !/No such device/.test(stderr)) throw new VolumeError('host', `cannot free ${device}: losetup: ${stderr.trim()}`);
}

async function loopsOf(tools: Tools, file: string): Promise<string[]> {
  const { code, stdout, stderr } = await tools.run('losetup', ['--associated', file, '--noheadings', '--output', 'NAME']);
  if (code !== 0) throw new VolumeError('host', `cannot list loop devices: losetup: ${stderr.trim()}`);
  return stdout.split('\n').filter((line) => line !== '');
}
