// Makes a fresh clone ready: the npm dependencies with Node 24 among them, then the programs that pods need. Runs before
// `npm start`, `npm test` and others, on whatever Node the machine has (18 or later), and does nothing when all is there.
//
//   node scripts/setup.mjs              dependencies and system programs; exit 1 when something cannot be had
//   node scripts/setup.mjs --no-system  dependencies only
//   node scripts/setup.mjs --lenient    both, but missing system programs are only told
//   node scripts/setup.mjs --images     also what the images of the conformance suite are built with
//   node scripts/setup.mjs --vm         also what makes and runs the virtual machine

import { spawn, spawnSync } from 'node:child_process';
import { accessSync, appendFileSync, constants, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const project = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const bin = join(project, 'node_modules', '.bin');
/** PATH without the project's own programs: npm must not run on a Node that it is about to replace. */
const outsidePath = [
  ...(process.env.PATH ?? '').split(delimiter).filter((p) => resolve(p) !== bin),
  '/usr/local/sbin',
  '/usr/sbin',
  '/sbin',
].join(delimiter);
const CNI_FOLDERS = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];

/** What pods need: how to see that it is there, and the package that has it, by family of distributions. */
const NEEDS = [
  {
    name: 'containerd',
    there: () => has('containerd') && has('ctr'),
    deb: ['containerd'],
    rpm: ['containerd'],
    arch: ['containerd'],
    alpine: ['containerd', 'containerd-ctr'],
  },
  { name: 'runc', there: () => has('runc'), deb: ['runc'], rpm: ['runc'], arch: ['runc'], alpine: ['runc'] },
  {
    name: 'CNI plugins',
    there: () => CNI_FOLDERS.some((f) => ['bridge', 'host-local', 'loopback', 'portmap'].every((p) => existsSync(join(f, p)))),
    deb: ['containernetworking-plugins'],
    rpm: ['containernetworking-plugins'],
    arch: ['cni-plugins'],
    alpine: ['cni-plugins'],
  },
  {
    name: 'iptables',
    there: () => has('iptables') && has('iptables-save'),
    deb: ['iptables'],
    rpm: ['iptables-nft'],
    arch: ['iptables-nft'],
    alpine: ['iptables'],
  },
  { name: 'iproute2', there: () => has('ip'), deb: ['iproute2'], rpm: ['iproute'], arch: ['iproute2'], alpine: ['iproute2'] },
  {
    name: 'a static busybox',
    there: () => staticBusybox(),
    deb: ['busybox-static'],
    rpm: ['busybox'],
    arch: ['busybox'],
    alpine: ['busybox-static'],
  },
];

const options = new Set(process.argv.slice(2));
const same = (name, deb, rpm = deb, arch = deb, alpine = deb) => ({
  name,
  there: () => has(name),
  deb: [deb],
  rpm: [rpm],
  arch: [arch],
  alpine: [alpine],
});
if (options.has('--vm')) {
  NEEDS.push(
    same('qemu-system-x86_64', 'qemu-system-x86', 'qemu-system-x86-core', 'qemu-system-x86', 'qemu-system-x86_64'),
    same('debootstrap', 'debootstrap'),
    same('mke2fs', 'e2fsprogs'),
  );
}
if (options.has('--images')) {
  NEEDS.push(
    { ...same('gcc', 'gcc'), deb: ['gcc', 'libc6-dev'], rpm: ['gcc', 'glibc-static'], alpine: ['gcc', 'musl-dev'] },
    same('make', 'make'),
    same('bzip2', 'bzip2'),
    same('curl', 'curl'),
    same('hostname', 'hostname', 'hostname', 'inetutils'),
    same('ipcs', 'util-linux'),
  );
}
try {
  await dependencies();
  if (!options.has('--no-system')) await systemPrograms();
} catch (error) {
  console.error(`\nset-up failed: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

/** `npm ci` when what is installed is not what package-lock.json names; then a check that Node 24 is among it. */
async function dependencies() {
  if (!installedMatchesLock()) await step('installing the npm dependencies (npm ci)', 'npm', ['ci', '--no-audit', '--no-fund']);
  if (nodeMajor(join(bin, 'node')) >= 24) return;
  // The package `node` fetches its binary by an install script, which npm may have been told not to run.
  const wanted = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')).packages['node_modules/node'].version;
  const name = `node-linux-${process.arch}`;
  if (!['x64', 'arm64'].includes(process.arch))
    throw new Error(`Node 24 is needed and there is none for ${process.arch} on npm: put one first on PATH`);
  await step(`fetching Node ${wanted}`, 'npm', [
    'install',
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    `${name}@${wanted}`,
  ]);
  mkdirSync(bin, { recursive: true });
  rmSync(join(bin, 'node'), { force: true });
  symlinkSync(`../${name}/bin/node`, join(bin, 'node'));
  if (nodeMajor(join(bin, 'node')) < 24) throw new Error(`no working Node 24 at ${join(bin, 'node')}: try "npm rebuild node"`);
}

/** Compares versions, not dates: git gives every file of a clone the same. */
function installedMatchesLock() {
  try {
    const wanted = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')).packages;
    const installed = JSON.parse(readFileSync(join(project, 'node_modules', '.package-lock.json'), 'utf8')).packages;
    return Object.entries(wanted).every(([path, p]) => path === '' || p.optional || installed[path]?.version === p.version);
  } catch {
    return false;
  }
}

function nodeMajor(path) {
  const result = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return result.status === 0 ? Number(/^v([0-9]+)/.exec(result.stdout)?.[1] ?? 0) : 0;
}

async function systemPrograms() {
  if (process.platform !== 'linux') return stop([`the kubelet runs on Linux only, this is ${process.platform}`]);
  const missing = NEEDS.filter((n) => !n.there());
  const isRoot = process.getuid?.() === 0;
  const names = missing.map((n) => n.name).join(', ');
  const { family, title } = distribution();
  if (missing.length > 0 && (!isRoot || family !== 'deb')) {
    return stop([
      `${names} ${missing.length === 1 ? 'is' : 'are'} missing${isRoot ? `, and on ${title} this script does not install them` : ', and only root can install programs'}. Run:`,
      '',
      ...installCommands(family, missing, isRoot ? '' : 'sudo ').map((c) => `    ${c}`),
      `    ${isRoot ? '' : 'sudo '}npm ${process.env.npm_lifecycle_event?.replace(/^pre/, 'run ').replace('run start', 'start').replace('run test', 'test') ?? 'start'}`,
    ]);
  }
  if (missing.length > 0) await installDebian(missing.flatMap((n) => n.deb));
  const still = NEEDS.filter((n) => !n.there()).map((n) => n.name);
  if (still.length > 0) return stop([`still missing after the installation: ${still.join(', ')}`]);
  if (!isRoot && !options.has('--lenient'))
    return stop(['containers need root. Run:', '', `    sudo npm ${process.env.npm_lifecycle_event === 'prestart' ? 'start' : 'test'}`]);
}

async function installDebian(packages) {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const apt = ['-q', '-y', '-o', 'DPkg::Lock::Timeout=300'];
  const update = () => step('updating the list of Debian packages (apt-get update)', 'apt-get', [...apt, 'update'], env);
  const install = () =>
    step(
      `installing ${packages.join(', ')} (apt-get install)`,
      'apt-get',
      [...apt, 'install', '--no-install-recommends', ...packages],
      env,
    );
  const known = packages.every((p) =>
    /Candidate: (?!\(none\))/.test(spawnSync('apt-cache', ['policy', p], { encoding: 'utf8' }).stdout ?? ''),
  );
  if (!known) await update();
  try {
    await install();
  } catch (error) {
    if (!known) throw error;
    await update(); // the list was there but too old to fetch from
    await install();
  }
  // For the closing words of npm start: what stays on the machine.
  mkdirSync(join(project, '.cache'), { recursive: true });
  appendFileSync(join(project, '.cache', 'installed-packages'), packages.map((p) => `${p}\n`).join(''));
}

function installCommands(family, missing, sudo) {
  const packages = (key) => missing.flatMap((n) => n[key]).join(' ');
  if (family === 'deb') return [`${sudo}apt-get update`, `${sudo}apt-get install -y --no-install-recommends ${packages('deb')}`];
  if (family === 'rpm') return [`${sudo}dnf install -y ${packages('rpm')}`];
  if (family === 'arch') return [`${sudo}pacman -S ${packages('arch')}`];
  if (family === 'alpine') return [`${sudo}apk add ${packages('alpine')}`];
  return [`# with your package manager (Debian's names): ${packages('deb')}`];
}

function distribution() {
  let text = '';
  try {
    text = readFileSync('/etc/os-release', 'utf8');
  } catch {}
  const value = (key) => new RegExp(`^${key}="?([^"\n]*)`, 'm').exec(text)?.[1] ?? '';
  const ids = [value('ID'), ...value('ID_LIKE').split(' ')];
  const family =
    ids.includes('debian') && has('apt-get')
      ? 'deb'
      : ids.some((i) => ['fedora', 'rhel', 'centos'].includes(i))
        ? 'rpm'
        : ids.includes('arch')
          ? 'arch'
          : ids.includes('alpine')
            ? 'alpine'
            : '';
  return { family, title: value('PRETTY_NAME') || 'this system' };
}

/** Tells what cannot be done here; the end of the script unless it was asked to be lenient. */
function stop(lines) {
  for (const line of lines) console.error(line);
  if (options.has('--lenient')) console.error('\nGoing on without: what needs a container runtime is left out.');
  else process.exitCode = 1;
}

function has(program) {
  return outsidePath.split(delimiter).some((folder) => isExecutable(join(folder, program)));
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A dynamic program names its loader in a program header of type 3. */
function staticBusybox() {
  return ['/bin/busybox', '/usr/bin/busybox'].some((path) => {
    if (!existsSync(path)) return false;
    const elf = readFileSync(path);
    if (elf.length < 64 || elf.readUInt32BE(0) !== 0x7f454c46) return false;
    const [offset, size, count] = [Number(elf.readBigUInt64LE(32)), elf.readUInt16LE(54), elf.readUInt16LE(56)];
    for (let i = 0; i < count; i++) if (elf.readUInt32LE(offset + i * size) === 3) return false;
    return true;
  });
}

/** Runs one step and shows that it goes on: on a terminal the seconds, else a line every ten of them. What the command says is shown when it fails. */
function step(title, command, args, env = {}) {
  const began = Date.now();
  const seconds = () => Math.round((Date.now() - began) / 1000);
  const terminal = process.stderr.isTTY;
  process.stderr.write(terminal ? `• ${title} …` : `• ${title}\n`);
  return new Promise((done, failed) => {
    let said = '';
    const child = spawn(command, args, {
      cwd: project,
      env: { ...process.env, PATH: outsidePath, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const timer = setInterval(
      () => process.stderr.write(terminal ? `\r• ${title} … ${seconds()} s` : `  … ${title}: ${seconds()} s\n`),
      terminal ? 1_000 : 10_000,
    );
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said = (said + chunk).slice(-8_000)));
    const end = (error) => {
      clearInterval(timer);
      process.stderr.write(terminal ? `\r\x1b[K${error ? '✗' : '✓'} ${title}, ${seconds()} s\n` : '');
      if (error) failed(error);
      else done();
    };
    child.on('error', (error) => end(new Error(`${command}: ${error.message}`)));
    child.on('close', (code) => end(code === 0 ? undefined : new Error(`${command} ${args.join(' ')} ended with ${code}\n${said.trim()}`)));
  });
}
