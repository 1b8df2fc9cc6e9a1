import { readFile } from 'node:fs/promises';

/** Whether the kernel enforces AppArmor profiles. `root` is the root of /sys for tests. */
export async function isAppArmorEnabled(root = '/'): Promise<boolean> {
  const text = await readFile(`${root}sys/module/apparmor/parameters/enabled`, 'utf8').catch(() => '');
  return text.startsWith('Y');
}
