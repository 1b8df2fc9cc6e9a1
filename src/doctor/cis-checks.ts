import { parseDuration } from '../api/duration.ts';
import type { FileFact, NodeRootFacts } from './node-root.ts';

/** One check of the CIS Kubernetes Benchmark, section 4, as it came out. */
export interface CheckResult {
  /** Such as `4.2.1`. */
  id: string;
  title: string;
  /** `absent`: what it is about is not on this node, so that nothing can be wrong with it. */
  outcome: 'pass' | 'fail' | 'absent';
  /** What was seen. */
  seen: string;
  /** What to do; of a failed check only. */
  remedy: string;
}

interface Verdict {
  ok: boolean | 'absent';
  seen: string;
}

interface Check {
  id: string;
  title: string;
  remedy: string;
  judge(node: NodeRootFacts): Verdict;
}

/** The benchmark's six suites with forward secrecy and authenticated encryption. */
const STRONG_SUITES = new Set([
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
]);

/** A setting: the flag wins over the file, the file over the default of those that are configured by file. */
function setting({ flags, config }: NodeRootFacts, flag: string, path: string, fallback: string): { text: string; from: string } {
  const byFlag = flags.get(flag);
  if (byFlag !== undefined) return { text: byFlag, from: `--${flag}` };
  const value = config?.get(path);
  if (value !== undefined) return { text: typeof value === 'string' ? value : value.join(','), from: path };
  return { text: fallback, from: `${path} (default)` };
}

/** A check of one setting. */
function valueCheck(
  id: string,
  title: string,
  [flag, path, fallback]: readonly [flag: string, path: string, fallback: string],
  isGood: (text: string) => boolean,
  remedy: string,
): Check {
  return {
    id,
    title,
    remedy,
    judge: (node) => {
      const { text, from } = setting(node, flag, path, fallback);
      return { ok: isGood(text), seen: `${from}: ${text === '' ? '""' : text}` };
    },
  };
}

const octal = (mode: number) => mode.toString(8).padStart(3, '0');

type FilesOf = (node: NodeRootFacts) => readonly (FileFact | undefined)[];

/** A check of files, of which some may be missing: with none at all there is nothing to check. */
function fileCheck(
  id: string,
  title: string,
  files: FilesOf,
  isGood: (file: FileFact) => boolean,
  shown: (file: FileFact) => string,
  remedy: string,
): Check {
  return {
    id,
    title,
    remedy,
    judge: (node) => {
      const found = files(node).filter((f) => f !== undefined);
      if (found.length === 0) return { ok: 'absent', seen: 'no such file' };
      return { ok: found.every(isGood), seen: found.map((f) => `${f.path} ${shown(f)}`).join(', ') };
    },
  };
}

const modeCheck = (id: string, what: string, files: FilesOf, allowed: number): Check =>
  fileCheck(
    id,
    `${what}: permissions ${octal(allowed)} or stricter`,
    files,
    ({ mode }) => (mode & ~allowed) === 0,
    ({ mode }) => octal(mode),
    `chmod ${octal(allowed)} FILE`,
  );

const ownerCheck = (id: string, what: string, files: FilesOf): Check =>
  fileCheck(
    id,
    `${what}: owned by root:root`,
    files,
    ({ uid, gid }) => uid === 0 && gid === 0,
    ({ uid, gid }) => `${uid}:${gid}`,
    'chown root:root FILE',
  );

const service = (node: NodeRootFacts) => node.serviceFiles;
const proxy = (node: NodeRootFacts) => [node.files.proxyKubeconfig];
const kubeconfig = (node: NodeRootFacts) => [node.files.kubeconfig];
const clientCA = (node: NodeRootFacts) => [node.files.clientCA];
const configFile = (node: NodeRootFacts) => [node.files.config];
const field = (path: string, value: string) => `set ${path}: ${value} in the KubeletConfiguration and start the kubelet again`;

const isNotZeroDuration = (text: string) => {
  try {
    return parseDuration(text) !== 0n;
  } catch {
    return text !== '0' && text !== '';
  }
};

/** Names of gates, and how a flag or a file gives them. */
function gate(node: NodeRootFacts, name: string): string | undefined {
  const byFlag = node.flags
    .get('feature-gates')
    ?.split(',')
    .find((g) => g.startsWith(`${name}=`));
  if (byFlag !== undefined) return byFlag.slice(name.length + 1);
  const value = node.config?.get(`featureGates.${name}`);
  return typeof value === 'string' ? value : undefined;
}

/** Source: CIS Kubernetes Benchmark 1.12, sections 4.1 and 4.2. */
const checks: readonly Check[] = [
  modeCheck('4.1.1', 'kubelet service file', service, 0o600),
  ownerCheck('4.1.2', 'kubelet service file', service),
  modeCheck('4.1.3', 'kubeconfig of the proxy', proxy, 0o600),
  ownerCheck('4.1.4', 'kubeconfig of the proxy', proxy),
  modeCheck('4.1.5', 'kubeconfig of the kubelet', kubeconfig, 0o600),
  ownerCheck('4.1.6', 'kubeconfig of the kubelet', kubeconfig),
  modeCheck('4.1.7', 'client certificate authority', clientCA, 0o644),
  ownerCheck('4.1.8', 'client certificate authority', clientCA),
  modeCheck('4.1.9', 'kubelet configuration file', configFile, 0o600),
  ownerCheck('4.1.10', 'kubelet configuration file', configFile),
  valueCheck(
    '4.2.1',
    'anonymous requests are refused',
    ['anonymous-auth', 'authentication.anonymous.enabled', 'false'],
    (t) => t === 'false',
    field('authentication.anonymous.enabled', 'false'),
  ),
  valueCheck(
    '4.2.2',
    'authorization is not AlwaysAllow',
    ['authorization-mode', 'authorization.mode', 'Webhook'],
    (t) => !t.split(',').includes('AlwaysAllow'),
    field('authorization.mode', 'Webhook'),
  ),
  valueCheck(
    '4.2.3',
    'a client certificate authority is set',
    ['client-ca-file', 'authentication.x509.clientCAFile', ''],
    (t) => t !== '',
    field('authentication.x509.clientCAFile', '/etc/kubernetes/pki/ca.crt'),
  ),
  valueCheck('4.2.4', 'the read-only port is off', ['read-only-port', 'readOnlyPort', '0'], (t) => t === '0', field('readOnlyPort', '0')),
  valueCheck(
    '4.2.5',
    'idle streams end',
    ['streaming-connection-idle-timeout', 'streamingConnectionIdleTimeout', '4h'],
    isNotZeroDuration,
    field('streamingConnectionIdleTimeout', '4h'),
  ),
  valueCheck(
    '4.2.6',
    'iptables utility chains are kept',
    ['make-iptables-util-chains', 'makeIPTablesUtilChains', 'true'],
    (t) => t === 'true',
    field('makeIPTablesUtilChains', 'true'),
  ),
  {
    id: '4.2.7',
    title: 'the host name is not overridden',
    remedy: 'remove --hostname-override from the arguments of the service',
    judge: ({ flags }) => {
      const given = flags.get('hostname-override');
      return { ok: given === undefined, seen: given === undefined ? 'not set' : `--hostname-override: ${given}` };
    },
  },
  valueCheck(
    '4.2.8',
    'events are limited, and not by a negative number',
    ['event-qps', 'eventRecordQPS', '50'],
    (t) => /^\d+$/.test(t),
    field('eventRecordQPS', '50'),
  ),
  {
    id: '4.2.9',
    title: 'the serving certificate is a known one',
    remedy: 'set tlsCertFile and tlsPrivateKeyFile, or serverTLSBootstrap: true, in the KubeletConfiguration',
    judge: (node) => {
      const cert = setting(node, 'tls-cert-file', 'tlsCertFile', '').text;
      const key = setting(node, 'tls-private-key-file', 'tlsPrivateKeyFile', '').text;
      const requested = setting(node, 'rotate-server-certificates', 'serverTLSBootstrap', 'false').text;
      const seen = cert === '' && key === '' ? `serverTLSBootstrap: ${requested}` : `tlsCertFile: ${cert}, tlsPrivateKeyFile: ${key}`;
      return { ok: (cert !== '' && key !== '') || requested === 'true', seen };
    },
  },
  {
    id: '4.2.10',
    title: 'the client certificate is renewed',
    remedy: field('rotateCertificates', 'true'),
    judge: (node) => {
      const { text, from } = setting(node, 'rotate-certificates', 'rotateCertificates', 'not set');
      return { ok: text !== 'false', seen: `${from}: ${text}` };
    },
  },
  {
    id: '4.2.11',
    title: 'renewal of the serving certificate is not switched off',
    remedy: 'remove RotateKubeletServerCertificate: false from featureGates',
    judge: (node) => {
      const value = gate(node, 'RotateKubeletServerCertificate');
      return { ok: value !== 'false', seen: `RotateKubeletServerCertificate: ${value ?? 'true (default)'}` };
    },
  },
  valueCheck(
    '4.2.12',
    'only strong cipher suites',
    ['tls-cipher-suites', 'tlsCipherSuites', ''],
    (t) => t !== '' && t.split(',').every((s) => STRONG_SUITES.has(s.trim())),
    field('tlsCipherSuites', `[${[...STRONG_SUITES].slice(0, 2).join(', ')}, ...]`),
  ),
  valueCheck(
    '4.2.13',
    'the number of processes of a pod is bounded',
    ['pod-max-pids', 'podPidsLimit', '-1'],
    (t) => Number(t) > 0,
    field('podPidsLimit', '4096'),
  ),
  valueCheck(
    '4.2.14',
    'the default seccomp profile is in use',
    ['seccomp-default', 'seccompDefault', 'false'],
    (t) => t === 'true',
    field('seccompDefault', 'true'),
  ),
];

/** Judges a node. Pure: what a check cannot see is `absent`, never a pass. */
export function cisResults(node: NodeRootFacts): CheckResult[] {
  return checks.map(({ id, title, remedy, judge }) => {
    const { ok, seen } = judge(node);
    const outcome = ok === 'absent' ? 'absent' : ok ? 'pass' : 'fail';
    return { id, title, outcome, seen, remedy };
  });
}
