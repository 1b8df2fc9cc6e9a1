import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { run, until } from './report.ts';

const DIR = '/run/apiserver';
const TOKEN = 'a-token-of-this-machine-alone';
const children: ChildProcess[] = [];
export const KUBECONFIG = '/etc/kubernetes/kubelet.conf';

/** An etcd and a kube-apiserver in which everything is allowed; nothing else of a control plane. */
export async function startApiServer(): Promise<void> {
  await mkdir(DIR, { recursive: true });
  await mkdir('/etc/kubernetes', { recursive: true });
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(`${DIR}/sa.pub`, publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(`${DIR}/sa.key`, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  await writeFile(`${DIR}/tokens.csv`, `${TOKEN},admin,1,"system:masters"\n`, { mode: 0o600 });
  // An interface with an address: the API server wants one to tell others.
  await run('sh', '-c', 'modprobe dummy; ip link add api0 type dummy; ip addr add 10.67.0.1/24 dev api0; ip link set api0 up');
  start('/payload/programs/etcd', [
    '--data-dir',
    `${DIR}/etcd`,
    '--listen-client-urls=http://127.0.0.1:2379',
    '--advertise-client-urls=http://127.0.0.1:2379',
    '--listen-peer-urls=http://127.0.0.1:2380',
    '--unsafe-no-fsync',
    '--log-level=error',
  ]);
  start('/payload/programs/kube-apiserver', [
    '--etcd-servers=http://127.0.0.1:2379',
    '--bind-address=10.67.0.1',
    '--advertise-address=10.67.0.1',
    `--cert-dir=${DIR}/certs`,
    '--service-cluster-ip-range=10.68.0.0/24',
    '--authorization-mode=AlwaysAllow',
    '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
    `--token-auth-file=${DIR}/tokens.csv`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${DIR}/sa.pub`,
    `--service-account-signing-key-file=${DIR}/sa.key`,
    '--profiling=false',
  ]);
  await writeFile(KUBECONFIG, kubeconfig(), { mode: 0o600 });
  await until('the API server', 300, async () => (await call('GET', '/readyz')).status === 200);
  await until('the namespace default', 120, async () => (await call('GET', '/api/v1/namespaces/default')).status === 200);
}

/** Ends both: what is left of a service would hold up the machine's end. */
export function stopApiServer(): void {
  for (const child of children) child.kill('SIGKILL');
}

function start(program: string, args: string[]): void {
  const child = spawn(program, args, { stdio: 'ignore', detached: true });
  child.unref();
  children.push(child);
}

function kubeconfig(): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'vm', cluster: { server: 'https://10.67.0.1:6443', 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'node', user: { token: TOKEN } }],
    contexts: [{ name: 'vm', context: { cluster: 'vm', user: 'node' } }],
    'current-context': 'vm',
  });
}

/** One request as administrator; the answer's body is JSON, or text. */
export function call(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };
    const outgoing = request({ host: '10.67.0.1', port: 6443, path, method, headers, rejectUnauthorized: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: answer.statusCode ?? 0, body: text.startsWith('{') ? (JSON.parse(text) as unknown) : text });
      });
    });
    outgoing.on('error', reject);
    outgoing.setTimeout(30_000, () => outgoing.destroy(new Error('no answer in 30 s')));
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
