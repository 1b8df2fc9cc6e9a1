import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mustRun, run } from '../../scripts/node/run.ts';
import { cacheDir, makeOnce } from '../e2e/cluster/goTools.ts';

/** The Debian release of the guest, and what is installed in it: a node's own parts and nothing for tests. */
const RELEASE = 'bookworm';
const PACKAGES = [
  'systemd',
  'systemd-sysv',
  'dbus',
  'udev',
  'kmod',
  'procps',
  'iproute2',
  'iptables',
  'containerd',
  'runc',
  'containernetworking-plugins',
  'linux-image-cloud-amd64',
];
const MIRROR = process.env['DEBIAN_MIRROR'] ?? 'http://deb.debian.org/debian';
const SIZE = '3G';

/** Runs what the second disk brings, and switches the machine off however that ends. */
const PAYLOAD_UNIT = `[Unit]
Description=what the second disk brings
After=multi-user.target containerd.service
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=oneshot
ExecStartPre=/bin/mkdir -p /payload
ExecStartPre=/bin/mount -o ro /dev/vdb /payload
ExecStart=/payload/run
TimeoutStartSec=infinity

[Install]
WantedBy=multi-user.target
`;

/** A disk with a bootable Debian, and its kernel. */
export interface RootImage {
  disk: string;
  kernel: string;
  initrd: string;
}

/** The guest's system: made once and kept in the cache, changed by no run. Needs root, debootstrap and mke2fs. */
export async function rootImage(log: (line: string) => void): Promise<RootImage> {
  const key = createHash('sha256')
    .update([RELEASE, ...PACKAGES, PAYLOAD_UNIT, SIZE].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const folder = join(cacheDir(), 'vm', key);
  const image = { disk: join(folder, 'root.ext4'), kernel: join(folder, 'vmlinuz'), initrd: join(folder, 'initrd.img') };
  await mkdir(folder, { recursive: true });
  const script = join(import.meta.dirname, 'makeRoot.ts');
  await makeOnce(image.disk, [process.execPath, script, folder, `${image.disk}.new`], {
    title: 'making a Debian for the virtual machine',
    log,
  });
  return image;
}

/** Makes the disk at `disk` and puts the kernel beside it in `folder`. */
export async function makeRoot(folder: string, disk: string): Promise<void> {
  const root = join(folder, `root.${process.pid}`);
  try {
    await mustRun('debootstrap', ['--variant=minbase', `--include=${PACKAGES.join(',')}`, RELEASE, root, MIRROR], { timeoutMs: 1_800_000 });
    await writeFile(join(root, 'etc/systemd/system/payload.service'), PAYLOAD_UNIT);
    await writeFile(join(root, 'etc/hostname'), 'node\n');
    await writeFile(join(root, 'etc/fstab'), '');
    await mustRun('chroot', [root, 'systemctl', 'enable', 'payload.service', 'containerd.service']);
    // Nothing asks for a name or the time outside.
    await run('chroot', [root, 'systemctl', 'mask', 'systemd-timesyncd.service', 'systemd-networkd-wait-online.service']);
    await rm(join(root, 'var/cache/apt'), { recursive: true, force: true });
    const boot = await readdir(join(root, 'boot'));
    for (const [prefix, to] of [
      ['vmlinuz-', 'vmlinuz'],
      ['initrd.img-', 'initrd.img'],
    ] as const) {
      const found = boot.find((name) => name.startsWith(prefix));
      if (found === undefined) throw new Error(`the package linux-image-cloud-amd64 left no /boot/${prefix}*`);
      await copyFile(join(root, 'boot', found), join(folder, to));
    }
    await rm(disk, { force: true });
    await mustRun('mke2fs', ['-q', '-t', 'ext4', '-d', root, disk, SIZE], { timeoutMs: 600_000 });
  } finally {
    await mustRun('umount', ['-R', join(root, 'proc')]).catch(() => {});
    await rm(root, { recursive: true, force: true });
  }
}
