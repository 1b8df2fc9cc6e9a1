import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cacheDir, isExecutable, makeOnce, requireGo } from '../e2e/cluster/goTools.ts';

const MODULE = resolve(import.meta.dirname, '../runtime/gotools');
const CONTAINERD = 'github.com/containerd/containerd/v2';
const RUNC = 'github.com/opencontainers/runc';

/** The version of a module that go.mod pins. */
async function pinned(module: string): Promise<string> {
  const found = (await readFile(join(MODULE, 'go.mod'), 'utf8')).split('\n').find((line) => line.trim().startsWith(`${module} `));
  if (found === undefined) throw new Error(`${MODULE}/go.mod does not name ${module}`);
  return found.trim().split(' ')[1] ?? '';
}

/**
 * A containerd of today beside the distribution's: the path of its program, for `startContainerd({ binary })`, in a folder with
 * its shim, ctr and a runc of its own. Built into the user's cache when it is not there yet: minutes the first time.
 */
export async function currentContainerd(log: (line: string) => void = () => {}): Promise<string> {
  const version = await pinned(CONTAINERD);
  const folder = join(cacheDir(), 'go', `containerd-${version}-runc-${await pinned(RUNC)}`);
  const ldflags = `-s -w -X ${CONTAINERD}/version.Version=${version}`;
  for (const name of ['containerd-shim-runc-v2', 'ctr', 'containerd']) {
    const path = join(folder, name);
    if (await isExecutable(path)) continue;
    await requireGo(path);
    const build = ['go', 'build', '-v', '-ldflags', ldflags, '-o', `${path}.new`, `${CONTAINERD}/cmd/${name}`];
    await makeOnce(path, build, { cwd: MODULE, title: `building ${name} ${version}`, log });
  }
  await currentRunc(join(folder, 'runc'), log);
  return join(folder, 'containerd');
}

/** runc needs a C compiler, and for seccomp the library's development files: those of Debian's package, which is not installed for it. */
async function currentRunc(path: string, log: (line: string) => void): Promise<void> {
  if (await isExecutable(path)) return;
  await requireGo(path);
  const script = `set -e
    work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
    get() { (cd "$work" && apt-get -q -o APT::Sandbox::User=root download libseccomp-dev) >&2; }
    get || { apt-get -q -o DPkg::Lock::Timeout=300 update >&2; get; }
    dpkg-deb -x "$work"/libseccomp-dev_*.deb "$work/unpacked"
    lib=$(dirname "$(find "$work/unpacked" -name libseccomp.a)")
    printf '#!/bin/sh\\ncase "$*" in *--libs*) echo "-L%s -lseccomp";; *) echo "-I%s";; esac\\n' "$lib" "$work/unpacked/usr/include" >"$work/pkg-config"
    chmod +x "$work/pkg-config"
    PKG_CONFIG="$work/pkg-config" go build -v -tags 'seccomp netgo osusergo' -ldflags '-s -w -extldflags -static' -o "$0" ${RUNC}`;
  const title = `building runc ${await pinned(RUNC)}`;
  await makeOnce(path, ['sh', '-c', script, `${path}.new`], { cwd: MODULE, title, log, env: { CGO_ENABLED: '1' } });
}
