import { join } from 'node:path';
import { run } from '../../../../scripts/node/run.ts';
import { architecture, type ImageConfig, type ImageStore, type StoredImage } from './imageStore.ts';
import { Layer } from './layer.ts';
import type { Programs } from './programs.ts';

const E2E = 'registry.k8s.io/e2e-test-images';
export const SUITE_PAUSE_IMAGE = 'registry.k8s.io/pause:3.10.2';
/** A spec pulls this name; nothing else than the real content has that digest, so it is imported under the name. */
export const BUSYBOX_BY_DIGEST = `${E2E}/busybox@sha256:a9155b13325b2abef48e71de77bb8ac015412a566829f621d06bfae5c699b1b9`;

const ENV = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];
const USERS = 'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n';
const GROUPS = 'root:x:0:\ndaemon:x:1:\nnogroup:x:65534:\nusers:x:100:\n';

/** Pulled before the first spec, run by none of those that count: any content will do. */
const ONLY_PULLED = [
  'gcr.io/cadvisor/cadvisor:v0.47.2',
  'registry.k8s.io/etcd:3.7.0-0',
  `${E2E}/node-perf/npb-ep:1.6.0`,
  `${E2E}/node-perf/npb-is:1.7.0`,
  `${E2E}/node-perf/pytorch-wide-deep:1.0.0`,
  `${E2E}/volume/nfs:1.6.0`,
  'docker.io/nfvpe/sriov-device-plugin:v3.1',
  'registry.k8s.io/node-problem-detector/node-problem-detector:v1.35.2',
  `${E2E}/apparmor-loader:1.4`,
];

/**
 * Stand-ins for all images that the node e2e suite v1.37.2 names, under its tags, with what its specs use of them. Returns
 * the image for `BUSYBOX_BY_DIGEST`. `kubernetesDir` holds the sources of Kubernetes, which a few data files come from.
 */
export async function addSuiteImages(store: ImageStore, programs: Programs, kubernetesDir: string): Promise<StoredImage> {
  const pause = new Layer().copy('pause', programs.pause);
  const pauseImage = store.add([SUITE_PAUSE_IMAGE], [pause], { Entrypoint: ['/pause'], User: '65535:65535', Env: ENV, WorkingDir: '/' });
  store.add(ONLY_PULLED, [pause], { Entrypoint: ['/pause'], Env: ENV }, 'only pulled');

  const busybox = await busyboxLayer(programs.busybox);
  const shell: ImageConfig = { Cmd: ['sh'], Env: ENV };
  store.add([`${E2E}/busybox:1.37.0-2`, `${E2E}/busybox:1.36.1-1`], [busybox], shell);
  store.add([`${E2E}/nonroot:1.5`], [busybox], { ...shell, User: '1234' });
  store.add([`${E2E}/perl:5.26`], [busybox], shell, 'only pulled');
  const ipc = new Layer();
  for (const name of ['ipcs', 'ipcmk', 'ipcrm']) await ipc.program(`usr/bin/${name}`, `/usr/bin/${name}`);
  store.add([`${E2E}/ipc-utils:1.4`], [busybox, ipc], shell);
  const setuid = new Layer().copy('usr/local/bin/nonewprivs', programs.nonewprivs, 0o6755);
  store.add([`${E2E}/nonewprivs:1.4`], [busybox, setuid], { Cmd: ['nonewprivs'], Env: ENV });
  const hostname = await new Layer().program('usr/local/bin/hostname', '/bin/hostname');
  store.add([`${E2E}/glibc-dns-testing:2.1.1`], [busybox, hostname], shell);
  const plugin = new Layer().copy('sampledeviceplugin', programs.deviceplugin);
  const pluginConfig = { Entrypoint: ['/sampledeviceplugin', '-alsologtostderr'], Env: ENV };
  store.add([`${E2E}/sample-device-plugin:1.7`, `${E2E}/sample-device-plugin:1.8.0`], [busybox, plugin], pluginConfig);

  const tools = await toolLayer(programs);
  const agnhost = agnhostLayer(store, programs, pauseImage, kubernetesDir);
  const ports = Object.fromEntries(['80', '8080', '8081', '9376', '5000'].map((p) => [`${p}/tcp`, {}]));
  const config: ImageConfig = { Entrypoint: ['/agnhost'], Cmd: ['pause'], Env: ENV, ExposedPorts: ports };
  store.add([`${E2E}/agnhost:2.66.1`], [busybox, tools, agnhost], config);
  store.add([`${E2E}/agnhost:2.55`], [busybox, tools, agnhost], config, 'the version before');
  const kitten = new Layer();
  for (const name of ['kitten.jpg', 'data.json']) kitten.copy(name, join(kubernetesDir, 'test/images/kitten/html', name), 0o644);
  store.add([`${E2E}/kitten:1.8`], [busybox, tools, agnhost, kitten], { ...config, Cmd: ['test-webserver'] });
  const nginx = nginxLayer(programs.agnhost);
  for (const version of ['1.27.0-2', '1.28.0-2']) {
    const nginxConfig: ImageConfig = { Entrypoint: ['/start'], Env: ENV, ExposedPorts: { '80/tcp': {} }, StopSignal: 'SIGQUIT' };
    store.add([`${E2E}/nginx:${version}`], [busybox, nginx], nginxConfig, `nginx ${version}`);
  }
  return store.add([], [busybox], shell, 'by digest');
}

async function busyboxLayer(program: string): Promise<Layer> {
  const layer = new Layer();
  for (const name of ['bin', 'etc', 'usr/bin', 'usr/sbin', 'var/run', 'var/log', 'home', 'dev', 'proc', 'sys', 'run', 'mnt'])
    layer.folder(name);
  layer.folder('root', 0o700).folder('tmp', 0o1777).folder('var/tmp', 0o1777).copy('bin/busybox', program);
  for (const applet of (await run(program, ['--list'])).stdout.split('\n')) {
    if (applet !== '' && applet !== 'busybox') layer.link(`bin/${applet}`, 'busybox');
  }
  return layer.file('etc/passwd', USERS).file('etc/group', GROUPS).file('etc/nsswitch.conf', 'hosts: files dns\n');
}

/** What the suite calls inside agnhost beside agnhost itself. */
async function toolLayer(programs: Programs): Promise<Layer> {
  const layer = new Layer();
  const host = { 'usr/bin/curl': '/usr/bin/curl', 'bin/bash': '/bin/bash', 'usr/sbin/ip': '/usr/sbin/ip', 'usr/bin/ss': '/usr/bin/ss' };
  for (const [name, path] of Object.entries(host)) await layer.program(name, path);
  await layer.program('usr/bin/ipcs', '/usr/bin/ipcs');
  return layer.program('usr/bin/nc', programs.netcat);
}

/** agnhost, its users, and the pause image that its fake registry hands out as `pause:testing`. */
function agnhostLayer(store: ImageStore, programs: Programs, pause: StoredImage, kubernetesDir: string): Layer {
  const layer = new Layer().folder('uploads').copy('agnhost', programs.agnhost).link('agnhost-2', 'agnhost');
  for (const name of ['localhost.crt', 'localhost.key']) layer.copy(name, join(kubernetesDir, 'test/images/agnhost/porter', name), 0o644);
  layer.file('etc/passwd', `${USERS}user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n`);
  layer.file('etc/group', `${GROUPS}user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n`);
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [{ ...pause.manifest, platform: { architecture, os: 'linux' } }],
  };
  const list = store.put(index.mediaType, Buffer.from(JSON.stringify(index)));
  const at = (kind: 'manifests' | 'blobs', digest: string) => {
    const hex = digest.slice('sha256:'.length);
    return `var/registry/pause/${kind}/sha256/${hex.slice(0, 2)}/${hex}/data`;
  };
  for (const d of [list, pause.manifest]) layer.file(at('manifests', d.digest), store.read(d));
  for (const d of [pause.config, ...pause.layers]) layer.file(at('blobs', d.digest), store.read(d));
  return layer.file('var/registry/pause/manifests/testing', `${list.digest}\n`);
}

/** A web server on port 80 that looks like nginx to the specs: its process name, pid file and page. */
function nginxLayer(agnhost: string): Layer {
  const start = '#!/bin/sh\ncd /usr/share/nginx/html\necho $$ > /var/run/nginx.pid\nexec /usr/sbin/nginx test-webserver\n';
  return new Layer()
    .copy('usr/sbin/nginx', agnhost)
    .file('start', start, 0o755)
    .file('usr/share/nginx/html/index.html', '<html><body><h1>Welcome to nginx!</h1></body></html>\n');
}
