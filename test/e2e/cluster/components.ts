import { join } from 'node:path';

/** Where a control plane listens and keeps its files. */
export interface ControlPlaneSettings {
  /** The address that the API server listens on; etcd stays on loopback. */
  address: string;
  port: number;
  etcdPort: number;
  etcdPeerPort: number;
  etcdDir: string;
  /** Folder with the files that `PKI_FILES` names. */
  pkiDir: string;
  schedulerKubeconfig: string;
  controllerManagerKubeconfig: string;
  /** Put after the others, so that they win. */
  apiserverFlags: readonly string[];
}

/** Names of the files in `pkiDir`. */
export const PKI_FILES = {
  ca: 'ca.crt',
  caKey: 'ca.key',
  apiserver: 'apiserver.crt',
  apiserverKey: 'apiserver.key',
  kubeletClient: 'apiserver-kubelet-client.crt',
  kubeletClientKey: 'apiserver-kubelet-client.key',
  serviceAccountKey: 'sa.key',
  serviceAccountPublic: 'sa.pub',
} as const;

export const SERVICE_ACCOUNT_ISSUER = 'https://kubernetes.default.svc.cluster.local';
const SERVICE_CIDR = '10.96.0.0/16';
/** The first address of the range: the `kubernetes` service. */
export const SERVICE_ADDRESS = '10.96.0.1';

/** Data is thrown away after the test: no fsync, and a history just long enough. */
export function etcdArgs(s: ControlPlaneSettings): string[] {
  const client = `http://127.0.0.1:${s.etcdPort}`;
  const peer = `http://127.0.0.1:${s.etcdPeerPort}`;
  return [
    `--data-dir=${s.etcdDir}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
    '--snapshot-count=10000',
    '--logger=zap',
    '--log-level=warn',
  ];
}

export function apiserverArgs(s: ControlPlaneSettings): string[] {
  const pki = (name: keyof typeof PKI_FILES) => join(s.pkiDir, PKI_FILES[name]);
  return [
    `--etcd-servers=http://127.0.0.1:${s.etcdPort}`,
    `--bind-address=${s.address}`,
    `--advertise-address=${s.address}`,
    `--secure-port=${s.port}`,
    // Endpoints may not lie on loopback, and nothing here uses those of the kubernetes service.
    '--endpoint-reconciler-type=none',
    `--service-cluster-ip-range=${SERVICE_CIDR}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction,ServiceAccount',
    '--allow-privileged=true',
    '--enable-bootstrap-token-auth=true',
    `--client-ca-file=${pki('ca')}`,
    `--tls-cert-file=${pki('apiserver')}`,
    `--tls-private-key-file=${pki('apiserverKey')}`,
    `--kubelet-client-certificate=${pki('kubeletClient')}`,
    `--kubelet-client-key=${pki('kubeletClientKey')}`,
    '--kubelet-preferred-address-types=InternalIP,Hostname',
    `--service-account-issuer=${SERVICE_ACCOUNT_ISSUER}`,
    `--service-account-key-file=${pki('serviceAccountPublic')}`,
    `--service-account-signing-key-file=${pki('serviceAccountKey')}`,
    '--profiling=false',
    '--v=1',
    ...s.apiserverFlags,
  ];
}

export function schedulerArgs(s: ControlPlaneSettings): string[] {
  return [`--kubeconfig=${s.schedulerKubeconfig}`, '--leader-elect=false', '--secure-port=0', '--v=1'];
}

export function controllerManagerArgs(s: ControlPlaneSettings): string[] {
  const pki = (name: keyof typeof PKI_FILES) => join(s.pkiDir, PKI_FILES[name]);
  return [
    `--kubeconfig=${s.controllerManagerKubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--use-service-account-credentials=true',
    '--controllers=*,bootstrap-signer-controller,token-cleaner-controller',
    `--root-ca-file=${pki('ca')}`,
    `--service-account-private-key-file=${pki('serviceAccountKey')}`,
    `--cluster-signing-cert-file=${pki('ca')}`,
    `--cluster-signing-key-file=${pki('caKey')}`,
    '--v=1',
  ];
}
