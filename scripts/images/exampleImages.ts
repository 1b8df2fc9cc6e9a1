import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../node/run.ts';
import { type ImageSource, ociArchive } from './ociArchive.ts';
import type { TarEntry } from './tar.ts';

export const PAUSE_IMAGE = 'registry.local/pause:1';
export const BUSYBOX_IMAGE = 'registry.local/busybox:1';

const here = dirname(fileURLToPath(import.meta.url));
const cache = resolve(here, '../../.cache/images');
const BUSYBOX_PATHS = ['/bin/busybox', '/usr/bin/busybox'];
const ENV = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
/** Stands in for the C program where no compiler is found. `wait` lets the shell collect orphans as they end. */
const PAUSE_SCRIPT = '#!/bin/sh\ntrap "exit 0" INT TERM\nwhile :; do sleep 86400 & wait $!; done\n';
/** Goes into the cache's key: raise it when the layout of the images changes. */
const LAYOUT = 'v1';

export interface ExampleImages {
  /** An OCI archive with both images. */
  archive: string;
}

/** Builds `registry.local/pause:1` and `registry.local/busybox:1` without any network, from Debian's busybox-static; cached. */
export async function exampleImages(log: (line: string) => void = () => {}): Promise<ExampleImages> {
  const busyboxPath = await firstStatic(BUSYBOX_PATHS);
  const [busybox, pauseSource] = await Promise.all([readFile(busyboxPath), readFile(join(here, 'pause.c'))]);
  const key = createHash('sha256').update(LAYOUT).update(process.arch).update(busybox).update(pauseSource).digest('hex').slice(0, 16);
  const archive = join(cache, `example-images-${key}.tar`);
  if (await exists(archive)) return { archive };
  log('making the example images');
  await mkdir(cache, { recursive: true });
  const applets = (await run(busyboxPath, ['--list'])).stdout.split('\n').filter(Boolean);
  const pause = await compilePause(log);
  const sources = [pauseImage(pause, busybox), busyboxImage(busybox, applets)];
  // Others may be building the same file: each writes its own and the last rename wins with equal content.
  const temporary = `${archive}.${process.pid}`;
  await writeFile(temporary, ociArchive(sources));
  await rename(temporary, archive);
  return { archive };
}

const folder = (name: string, mode = 0o755): TarEntry => ({ kind: 'folder', name, mode });
const file = (name: string, data: Buffer | string, mode: number): TarEntry => ({ kind: 'file', name, mode, data: Buffer.from(data) });

function pauseImage(pause: Buffer | undefined, busybox: Buffer): ImageSource {
  const files =
    pause !== undefined
      ? [file('pause', pause, 0o755)]
      : [
          folder('bin'),
          file('bin/busybox', busybox, 0o755),
          ...['sh', 'sleep'].map((a): TarEntry => ({ kind: 'link', name: `bin/${a}`, target: 'busybox' })),
          file('pause', PAUSE_SCRIPT, 0o755),
        ];
  return { reference: PAUSE_IMAGE, files, config: { Entrypoint: ['/pause'], Env: ENV, User: '65535:65535', WorkingDir: '/' } };
}

function busyboxImage(busybox: Buffer, applets: readonly string[]): ImageSource {
  const users = 'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n';
  const groups = 'root:x:0:\ndaemon:x:1:\nnogroup:x:65534:\n';
  const files: TarEntry[] = [
    ...['bin', 'dev', 'etc', 'home', 'mnt', 'proc', 'run', 'sys', 'usr', 'usr/bin', 'usr/sbin', 'var', 'var/log', 'var/run'].map((n) =>
      folder(n),
    ),
    folder('root', 0o700),
    folder('tmp', 0o1777),
    folder('var/tmp', 0o1777),
    file('bin/busybox', busybox, 0o755),
    ...applets
      .filter((a) => a !== 'busybox' && !a.includes('/'))
      .map((a): TarEntry => ({ kind: 'link', name: `bin/${a}`, target: 'busybox' })),
    file('etc/passwd', users, 0o644),
    file('etc/group', groups, 0o644),
  ];
  return { reference: BUSYBOX_IMAGE, files, config: { Cmd: ['sh'], Env: ENV } };
}

async function compilePause(log: (line: string) => void): Promise<Buffer | undefined> {
  const work = await mkdtemp(join(cache, 'build-'));
  try {
    const result = await run('cc', ['-O2', '-s', '-static', '-o', join(work, 'pause'), join(here, 'pause.c')]);
    if (result.code === 0) return await readFile(join(work, 'pause'));
    log('no C compiler: the pause image runs a shell instead');
    return undefined;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** A dynamic busybox would not run alone in an image. */
/** Path of a busybox that needs no libraries. Rejects when there is none. */
export const staticBusybox = () => firstStatic(BUSYBOX_PATHS);

async function firstStatic(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    if (!(await exists(path))) continue;
    const program = await readFile(path);
    // ELF64: a program header of type 3 (PT_INTERP) asks for a dynamic loader.
    if (program.length > 64 && program.readUInt32BE(0) === 0x7f454c46 && !hasInterpreter(program)) return path;
  }
  throw new Error('no static busybox found: install busybox-static');
}

function hasInterpreter(elf: Buffer): boolean {
  const offset = Number(elf.readBigUInt64LE(32));
  const [size, count] = [elf.readUInt16LE(54), elf.readUInt16LE(56)];
  for (let i = 0; i < count; i++) if (elf.readUInt32LE(offset + i * size) === 3) return true;
  return false;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
