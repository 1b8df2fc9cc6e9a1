import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeMounts } from '../../src/host/mounts.ts';
import { attack, type Bout } from '../support/attack.ts';
import { podWith, type VolumesBed, volumesBed } from '../support/volumes.ts';

const { signal } = new AbortController();

/** Runs `work` with a bed of its own; nothing of it is left, and nothing may have appeared in its `outside`. */
async function onBed(bout: Bout, work: (bed: VolumesBed, outside: string) => Promise<void>): Promise<void> {
  const bed = await volumesBed();
  const outside = join(bed.root, 'outside');
  try {
    await mkdir(outside);
    await writeFile(join(outside, 'kept'), 'kept');
    await work(bed, outside);
    const now = await readdir(outside);
    if (now.join() !== 'kept' || (await readFile(join(outside, 'kept'), 'utf8')) !== 'kept')
      bout.escape(`the host's directory holds ${now.join()}`);
    assert.deepEqual(await nodeMounts.below(bed.root), [], 'a mount is left');
  } finally {
    await bed.remove();
  }
}

attack('subPath: ways out of the volume by "..", absolute and relative links, loops and /proc', { tries: 1 }, (bout) =>
  onBed(bout, async (bed, outside) => {
    const make = async (uid: string, subPath: string) => {
      const pod = podWith(uid, [{ name: 'disk', emptyDir: {} }], [{ name: 'disk', mountPath: '/m', subPath }]);
      await bed.manager.mount(pod, signal);
      return pod;
    };
    const disk = join(bed.podsDir, 'out/volumes/kubernetes.io~empty-dir/disk');
    await make('out', '');
    for (const [name, target] of Object.entries({
      absolute: outside,
      relative: '../../../../../outside',
      deep: 'a/../../../../../../outside',
      loop: 'loop',
      proc: '/proc/1/root',
      self: '/proc/self/root',
      chain: 'relative',
      twice: './chain/../outside',
    })) {
      await symlink(target, join(disk, name));
    }
    await mkdir(join(disk, 'a'));
    const links = ['absolute', 'relative', 'deep', 'loop', 'proc', 'self', 'chain', 'twice'];
    const paths = [
      '..',
      '../x',
      'a/../../x',
      '/etc',
      '/',
      ...links.flatMap((link) => [link, `${link}/new`, `${link}/kept`, `a/../${link}`, `${link}/etc/passwd`]),
    ];
    for (const path of paths) {
      const pod = await make('out', path);
      const [container] = pod.spec.containers;
      assert.ok(container);
      await bed.manager.mountsOf(pod, container, []).then(
        () => bout.escape(`${path} was bound`),
        () => bout.harmless('refused'),
      );
    }
    await bed.manager.unmount(await make('out', ''), signal);
  }),
);

attack('configMap, secret and projected keys that are no file names', { tries: 1 }, (bout) =>
  onBed(bout, async (bed) => {
    const keys = [
      '../x',
      '..',
      '../../../../../outside/x',
      '..data',
      '..data/x',
      '..2026_01_01_00_00_00.1',
      'a/../../x',
      '/abs',
      '',
      'k'.repeat(300),
      'nul\0x',
      '.',
      './..',
      'a//..//..//x',
    ];
    for (const [index, key] of keys.entries()) {
      const data = new Map([[key, 'evil']]);
      bed.objects.configMaps.set('default/conf', { data });
      bed.objects.secrets.set('default/key', { data: new Map([[key, Buffer.from('evil')]]) });
      const items = [{ key: 'k', path: key }];
      bed.objects.configMaps.set('default/good', { data: new Map([['k', 'evil']]) });
      for (const [kind, source] of Object.entries({
        configMap: { configMap: { name: 'conf' } },
        secret: { secret: { secretName: 'key' } },
        projected: { projected: { sources: [{ configMap: { name: 'conf' } }] } },
        items: { configMap: { name: 'good', items } },
      })) {
        const uid = `keys-${index}-${kind.toLowerCase()}`;
        const pod = podWith(uid, [{ name: 'v', ...source }]);
        // A path of several parts, all of them names, is one that can be shown.
        const isShown = await bed.mountOnce(pod).then(
          () => true,
          () => false,
        );
        if (isShown) bout.escape(`${JSON.stringify(key.slice(0, 40))} of a ${kind} was shown`);
        else bout.harmless('refused');
        await bed.manager.unmount(pod, signal);
      }
    }
    assert.deepEqual(
      (await readdir(bed.podsDir)).flatMap((uid) => (uid.startsWith('keys-') ? [] : [uid])),
      [],
      'something lies beside the pods',
    );
  }),
);

attack('a pod turns its secret directory into a link before tear-down', { tries: 20 }, (bout) =>
  onBed(bout, async (bed, outside) => {
    bed.objects.secrets.set('default/s', { data: new Map([['k', Buffer.from('v')]]) });
    for (let i = 0; i < bout.tries; i++) {
      const pod = podWith(`linker-${i}`, [
        { name: 'secret', secret: { secretName: 's' } },
        { name: 'disk', emptyDir: {} },
      ]);
      await bed.manager.mount(pod, signal);
      const volumes = join(bed.podsDir, `linker-${i}/volumes`);
      const secret = join(volumes, 'kubernetes.io~secret/secret');
      const disk = join(volumes, 'kubernetes.io~empty-dir/disk');
      // As root of the container: everything in the volume, and, worse than it can, the volume itself.
      await symlink(outside, join(disk, 'link'));
      await rm(join(secret, '..data'));
      await symlink(outside, join(secret, '..data'));
      await symlink(outside, join(secret, '..2026_01_01_00_00_00.1'));
      if (i % 2 === 0) {
        await rename(disk, `${disk}-moved`);
        await symlink(outside, disk);
      }
      await bed.manager.refresh(pod, signal);
      assert.equal(await readFile(join(secret, 'k'), 'utf8'), 'v');
      if (i % 3 === 0) {
        // Also the mount point itself, once its mount is gone.
        await nodeMounts.unmount(secret);
        await rm(secret, { recursive: true });
        await symlink(outside, secret);
      }
      await bed.manager.unmount(pod, signal);
      if ((await readdir(outside)).join() !== 'kept') bout.escape('a file of the host was removed');
      else bout.harmless('only links went');
      assert.deepEqual(await readdir(volumes), []);
    }
  }),
);

attack('a hostPath type that lies, and one that changes while it is checked', { tries: 300, shortTries: 60 }, (bout) =>
  onBed(bout, async (bed, outside) => {
    const at = (name: string) => join(bed.root, 'host', name);
    await mkdir(at('dir'), { recursive: true });
    await writeFile(at('file'), '');
    await symlink(join(outside, 'made'), at('dangling'));
    const mount = (path: string, type: string) =>
      bed.mountOnce(podWith('host', [{ name: 'h', hostPath: { path, type } }])).then(
        () => true,
        () => false,
      );
    for (const type of [
      'Directory',
      'DirectoryOrCreate',
      'File',
      'FileOrCreate',
      'Socket',
      'CharDevice',
      'BlockDevice',
      'socket',
      'OrCreate',
      'SocketOrCreate',
    ]) {
      for (const name of ['dir', 'file', 'dangling', 'nothing/..', '../outside/new']) {
        const truth = (type.startsWith('Directory') && name === 'dir') || (type.startsWith('File') && name === 'file');
        const made = type === 'DirectoryOrCreate' && name === 'dangling';
        if ((await mount(at('').concat('/', name), type)) && !truth && !made) bout.escape(`${name} passed as ${type}`);
        else bout.harmless(truth ? 'passed' : 'refused');
      }
    }
    // The host's owner of the path swaps a link to a file elsewhere in and out: nothing is made or cut short there.
    const path = at('race');
    let isOver = false;
    const swapping = (async () => {
      while (!isOver) {
        await symlink(join(outside, 'made'), path).catch(() => {});
        await rm(path, { force: true, recursive: true }).catch(() => {});
      }
    })();
    for (let i = 0; i < bout.tries; i++) {
      await mount(path, 'FileOrCreate');
      if ((await readdir(outside)).includes('made')) bout.escape('a file was made where a link led');
      else bout.harmless('nothing was made elsewhere');
    }
    isOver = true;
    await swapping;
  }),
);

attack('a volume is busy at unmount: nothing of it is removed, and it goes when it is free', { tries: 3 }, (bout) =>
  onBed(bout, async (bed) => {
    for (let i = 0; i < bout.tries; i++) {
      const pod = podWith(`busy-${i}`, [
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'disk', emptyDir: {} },
      ]);
      await bed.manager.mount(pod, signal);
      const memory = join(bed.podsDir, `busy-${i}/volumes/kubernetes.io~empty-dir/memory`);
      const sitter = spawn('sleep', ['60'], { cwd: memory, stdio: 'ignore' });
      await once(sitter, 'spawn');
      await writeFile(join(memory, 'f'), '');
      const text = /^VolumeError: UnmountVolume.TearDown failed for volume "memory" : .*still mounted.*busy/;
      await assert.rejects(bed.manager.unmount(pod, signal), text);
      if ((await readdir(memory)).join() === 'f') bout.harmless('kept');
      else bout.escape('a file of a busy volume was removed');
      await assert.rejects(stat(join(bed.podsDir, `busy-${i}/volumes/kubernetes.io~empty-dir/disk`)), /ENOENT/);
      sitter.kill('SIGKILL');
      await once(sitter, 'exit');
      await bed.manager.unmount(pod, signal);
    }
  }),
);
