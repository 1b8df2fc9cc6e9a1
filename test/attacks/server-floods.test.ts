import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../../scripts/node/freePort.ts';
import { newAuthority } from '../e2e/cluster/pki.ts';
import { type Agent, removePods, startAgent } from '../support/agent.ts';
import { attack } from '../support/attack.ts';
import { BUSYBOX_IMAGE, type PrivateContainerd, startContainerd } from '../support/containerd.ts';
import { heldConnections } from '../support/heldConnections.ts';
import { ask, execSpdy, type KubeletClient } from '../support/kubeletClient.ts';

/** A running agent under floods and with files swapped beneath it. */

let daemon: PrivateContainerd;
let agent: Agent;
let admin: KubeletClient;
let podDir = '';
const environmentSecret = 'hunter2-environment';

before(async () => {
  daemon = await startContainerd();
  const folder = join(dirname(daemon.dir), 'floods');
  await daemon.ownFolder(folder);
  const manifests = join(folder, 'manifests');
  await mkdir(manifests, { recursive: true });
  await writeFile(
    join(manifests, 'p.yaml'),
    `
apiVersion: v1
kind: Pod
metadata: { name: p, namespace: default, annotations: { note: ok } }
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: ${BUSYBOX_IMAGE}
      imagePullPolicy: Never
      env: [{ name: PASSWORD, value: ${environmentSecret} }]
      command: [sh, -c, 'i=0; while [ $i -lt 20000 ]; do echo "line $i of a log that is long enough to fill buffers"; i=$((i+1)); done; sleep 3600']
`,
  );
  const ca = await newAuthority('floods');
  await writeFile(join(folder, 'ca.crt'), ca.certPem);
  const [port = 0] = await freePorts(1);
  const authentication = { anonymous: { enabled: false }, webhook: { enabled: false }, x509: { clientCAFile: join(folder, 'ca.crt') } };
  agent = await startAgent({ containerd: daemon, manifests, config: { port, authentication }, flags: ['--v=10'] });
  const { certPem: cert, keyPem: key } = await ca.client({ commonName: 'admin' });
  admin = { port, cert, key };
  await agent.waitHealthy();
  for (let i = 0; ; i++) {
    const { items } = JSON.parse((await ask(admin, '/pods')).body.toString()) as {
      items: { metadata: { name: string; namespace: string; uid: string }; status?: { phase?: string } }[];
    };
    const pod = items.find((p) => p.status?.phase === 'Running');
    if (pod !== undefined) {
      podDir = `${pod.metadata.namespace}_${pod.metadata.name}_${pod.metadata.uid}`;
      break;
    }
    if (i > 300) assert.fail('the pod does not run');
    await sleep(100);
  }
});

after(async () => {
  await agent?.kill('SIGTERM');
  if (daemon !== undefined) await removePods(daemon.endpoint);
  await daemon?.stop();
});

async function residentMiB(): Promise<number> {
  const status = await readFile(`/proc/${agent.pid()}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

/** How long a known client waits for an answer, milliseconds. */
async function patience(): Promise<number> {
  const begin = performance.now();
  assert.equal((await ask(admin, '/healthz')).status, 200);
  return performance.now() - begin;
}

/** Memory that a flood may cost. */
const MAX_GROWTH_MIB = 150;

/** Where the floods come from: another address than everybody else's, since limits are by address. */
const ATTACKER = '127.0.0.2';

/** What an attacker holds open at most is the limit on strangers of one address, whatever it tries. */
const floods: readonly [mode: string, count: number, maxOpen: number][] = [
  ['idle', 5_000, 130],
  ['hello', 1_000, 130],
  ['silent', 300, 130],
  ['slow-headers', 300, 130],
  ['half-upgrade', 300, 130],
  ['headers', 30, 130],
  ['body', 30, 130],
];

for (const [mode, count, maxOpen] of floods) {
  attack(`flood: ${count} connections, ${mode}`, { tries: count }, async (bout) => {
    const before = await residentMiB();
    const program = fileURLToPath(new URL('../support/flooder.ts', import.meta.url));
    const flooder = spawn(process.execPath, [program, mode, String(admin.port), String(count)], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      const lines = createInterface(flooder.stdout)[Symbol.asyncIterator]();
      assert.equal((await lines.next()).value, 'ready');
      const waited = await patience();
      assert.equal((await lines.next()).value, 'settled');
      const open = await heldConnections(admin.port, ATTACKER);
      assert.ok(open <= maxOpen, `${open} connections are open`);
      assert.ok(waited < 10_000, `a known client waited ${Math.round(waited)} ms`);
      const growth = (await residentMiB()) - before;
      assert.ok(growth < MAX_GROWTH_MIB, `the agent grew by ${Math.round(growth)} MiB`);
      for (let i = 0; i < count; i++) bout.harmless(i < open ? 'held' : 'closed');
    } finally {
      flooder.stdin.end();
      await once(flooder, 'exit');
    }
    await sleep(200);
    await patience();
  });
}

attack('slow readers: 40 clients ask for a log and never read it', { tries: 40 }, async (bout) => {
  const before = await residentMiB();
  const [namespace, name] = podDir.split('_');
  const sockets = Array.from({ length: bout.tries }, () => {
    const socket = tlsConnect({ host: '127.0.0.1', port: admin.port, cert: admin.cert, key: admin.key, rejectUnauthorized: false });
    socket.on('error', () => {});
    socket.write(`GET /containerLogs/${namespace}/${name}/main?follow=true HTTP/1.1\r\nHost: x\r\n\r\n`);
    socket.pause();
    return socket;
  });
  await sleep(2_000);
  const growth = (await residentMiB()) - before;
  assert.ok(growth < MAX_GROWTH_MIB, `the agent grew by ${Math.round(growth)} MiB`);
  assert.ok((await patience()) < 10_000);
  for (const socket of sockets) {
    socket.destroy();
    bout.harmless('held up itself only');
  }
});

attack('a log file is replaced by a link to a secret of the host', { tries: 30, shortTries: 10 }, async (bout) => {
  const secret = join(dirname(agent.dir), 'floods', 'host-secret');
  const mark = 'only the host may read this';
  await writeFile(secret, `2026-01-01T00:00:00.000000000Z stdout F ${mark}\n`);
  const log = join(agent.podLogsDir, podDir, 'main', '0.log');
  const [namespace, name] = podDir.split('_');
  const path = `/containerLogs/${namespace}/${name}/main?tailLines=1`;
  await rename(log, `${log}.kept`);
  try {
    const links = [secret, `../../../../floods/host-secret`, '/proc/self/root/etc/hostname', '/etc/passwd'];
    for (let i = 0; i < bout.tries; i++) {
      await rm(log, { force: true });
      await symlink(links[i % links.length] ?? secret, log);
      const { status, body } = await ask(admin, path);
      const text = body.toString();
      if (text.includes(mark) || text.includes('root:')) bout.escape(`${links[i % links.length]}: ${status}`);
      else bout.harmless(String(status));
    }
    // The directory above it as a link.
    const dir = dirname(log);
    await rename(dir, `${dir}.kept`);
    await symlink(dirname(secret), dir);
    await symlink(secret, join(dirname(secret), '0.log'));
    const { status, body } = await ask(admin, path);
    await rm(dir);
    await rename(`${dir}.kept`, dir);
    if (body.toString().includes(mark)) bout.escape('a linked directory');
    else bout.harmless(String(status));
  } finally {
    await rm(log, { force: true });
    await rename(`${log}.kept`, log);
  }
});

attack('traversal at /logs and containerLogs', { tries: 1 }, async (bout) => {
  const targets = ['etc/passwd', 'etc/hostname', 'proc/self/environ'];
  const climbs = [
    '../../',
    '..%2f..%2f',
    '%2e%2e/%2e%2e/',
    '....//....//',
    '..%5c..%5c',
    '..;/..;/',
    '%252e%252e/%252e%252e/',
    './/../../',
    '%c0%ae%c0%ae/',
  ];
  for (const base of ['/logs/', '/logs/apt/', '/containerLogs/default/', '/containerLogs/default/p/', '/logs/?query=']) {
    for (const climb of climbs) {
      for (const target of targets) {
        const { status, body } = await ask(admin, base + climb + target);
        if (status !== 200 || !/root:|PATH=/.test(body.toString())) bout.harmless(String(status));
        else bout.escape(`${base}${climb}${target}`);
      }
    }
  }
});

attack('a verbose log holds no token, no command, no body, no environment', { tries: 1 }, async (bout) => {
  const [namespace, name] = podDir.split('_');
  const secrets = {
    token: 'eyJhbGciOi.token-in-header.c2ln',
    command: 'secret-in-command',
    body: 'secret-in-body',
    header: 'secret-in-header',
    output: 'secret-in-output',
    environment: environmentSecret,
  };
  const where = `/${namespace}/${name}/main`;
  const headers = { 'X-Secret': secrets.header, Cookie: secrets.header };
  await ask({ ...admin, token: secrets.token }, `/run${where}?cmd=${encodeURIComponent(`echo ${secrets.command}`)}`, {
    method: 'POST',
    headers,
  });
  await ask({ port: admin.port, token: secrets.token }, `/pods?x=${secrets.command}`, { headers });
  await ask(admin, '/debug/flags/v', { method: 'PUT', body: secrets.body, headers });
  await ask(admin, `/nothing?${secrets.command}`, { headers });
  const script = `echo ${secrets.output} ${secrets.command}`;
  await execSpdy(admin, `/exec${where}?command=sh&command=-c&command=${encodeURIComponent(script)}&output=1`);
  await sleep(500);
  const log = await agent.log();
  assert.match(log, /healthz|Forbidden|Unable to authenticate|Verbosity|SyncLoop/, 'the log is a verbose one');
  for (const [what, secret] of Object.entries(secrets)) {
    if (log.includes(secret))
      bout.escape(
        `${what} is in the log: ${log
          .split('\n')
          .find((l) => l.includes(secret))
          ?.slice(0, 200)}`,
      );
    else bout.harmless('not in the log');
  }
});
