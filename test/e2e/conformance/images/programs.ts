import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { run } from '../../../../scripts/node/run.ts';
import { cacheDir, goTool, isExecutable, makeOnce } from '../../cluster/goTools.ts';

const project = resolve(import.meta.dirname, '../../../..');
const BUSYBOX_VERSION = '1.37.0';

/** Paths of the programs that the images are made of. */
export interface Programs {
  pause: string;
  nonewprivs: string;
  busybox: string;
  agnhost: string;
  deviceplugin: string;
  netcat: string;
}

/** Builds all programs, each once, into the cache. Needs gcc, make, Go, and Debian's mirror for busybox and netcat. */
export async function buildPrograms(log: (line: string) => void): Promise<Programs> {
  const folder = join(cacheDir(), 'programs');
  await mkdir(folder, { recursive: true });
  const missing: string[] = [];
  for (const tool of ['gcc', 'make', 'bzip2', 'dpkg-deb', 'apt-get']) if ((await run('which', [tool])).code !== 0) missing.push(tool);
  if (missing.length > 0) throw new Error(`${missing.join(', ')} not found: the images of the suite are built with them`);
  const compile = async (source: string, name: string) => {
    const path = join(folder, name);
    if (!(await isExecutable(path)))
      await makeOnce(path, ['gcc', '-O2', '-s', '-static', '-o', `${path}.new`, source], { title: `compiling ${name}`, log });
    return path;
  };
  return {
    pause: await compile(join(project, 'scripts/images/pause.c'), 'pause'),
    nonewprivs: await compile(join(import.meta.dirname, 'nonewprivs.c'), 'nonewprivs'),
    busybox: await busybox(folder, log),
    agnhost: await goTool('agnhost', log),
    deviceplugin: await goTool('sample-device-plugin', log),
    netcat: await netcat(folder, log),
  };
}

/**
 * The version of the suite's own image, with all applets: Debian's static one lacks nmeter, ipcs and UDP in nc, and its
 * shell drops environment variables whose names hold dashes.
 */
async function busybox(folder: string, log: (line: string) => void): Promise<string> {
  const path = join(folder, `busybox-${BUSYBOX_VERSION}`);
  if (await isExecutable(path)) return path;
  const script = `set -e
    work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"; mkdir -p lists cache/archives/partial
    mirror=$(grep -rhoE 'https?://[^ ]+/debian' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | sort -u | head -n 1)
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \${mirror:-http://deb.debian.org/debian} trixie main" > sources.list
    apt() { apt-get -q -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/lists" \\
      -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@"; }
    apt update >&2; apt source --download-only busybox >&2
    tar xjf busybox_${BUSYBOX_VERSION}.orig.tar.bz2; cd busybox-${BUSYBOX_VERSION}
    make defconfig >/dev/null
    # Static, and without tc, which newer kernel headers no longer compile.
    sed -i 's/^# CONFIG_STATIC is not set/CONFIG_STATIC=y/; s/^CONFIG_TC=y/# CONFIG_TC is not set/' .config
    make -j"$(nproc)" >&2; cp busybox "$0"`;
  await makeOnce(path, ['sh', '-c', script, `${path}.new`], { title: `building busybox ${BUSYBOX_VERSION}`, log });
  return path;
}

/** Unpacked from Debian's package, never installed: another netcat may be the host's. */
async function netcat(folder: string, log: (line: string) => void): Promise<string> {
  const path = join(folder, 'nc.openbsd');
  if (await isExecutable(path)) return path;
  const script = `set -e
    work=$(mktemp -d); trap 'rm -rf "$work"' EXIT; cd "$work"
    get() { apt-get -q -o APT::Sandbox::User=root download netcat-openbsd >&2; }
    get || { apt-get -q -o DPkg::Lock::Timeout=300 update >&2; get; }
    dpkg-deb -x netcat-openbsd_*.deb unpacked; cp unpacked/bin/nc.openbsd "$0" 2>/dev/null || cp unpacked/usr/bin/nc.openbsd "$0"`;
  await makeOnce(path, ['sh', '-c', script, `${path}.new`], { title: "fetching netcat from Debian's package netcat-openbsd", log });
  return path;
}
