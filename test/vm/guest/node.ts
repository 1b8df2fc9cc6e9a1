import { cp, mkdir, writeFile } from 'node:fs/promises';
import { run, until } from './report.ts';

const CONTAINERD = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.local/pause:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = true
`;
const NETWORK = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: false,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.66.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
};
export const MANIFESTS = '/etc/kubernetes/manifests';

/** What the agent is configured with; `more` goes below it. */
export function configuration(more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    staticPodPath: MANIFESTS,
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    cgroupDriver: 'systemd',
    failSwapOn: false,
    address: '127.0.0.1',
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    readOnlyPort: 10255,
    podPidsLimit: 300,
    systemReserved: { cpu: '100m', memory: '100Mi' },
    memoryReservationPolicy: 'TieredReservation',
    memoryThrottlingFactor: 0.9,
    fileCheckFrequency: '1s',
    evictionHard: { 'memory.available': '20Mi' },
    ...more,
  });
}

export async function setUpRuntime(): Promise<void> {
  await mkdir('/etc/containerd', { recursive: true });
  await mkdir('/etc/cni/net.d', { recursive: true });
  await writeFile('/etc/containerd/config.toml', CONTAINERD);
  await writeFile('/etc/cni/net.d/10-pods.conflist', JSON.stringify(NETWORK));
  await writeFile('/proc/sys/net/ipv4/ip_forward', '1');
  await run('modprobe', 'overlay');
  await run('systemctl', 'restart', 'containerd');
  await until('containerd', 120, async () => {
    await run('ctr', 'version');
    return true;
  });
  await run('ctr', '-n', 'k8s.io', 'images', 'import', '/payload/images.tar');
}

/** Installs the agent as the deployment's unit has it, without an API server, and starts it. */
export async function installAgent(): Promise<void> {
  await cp('/payload/kubelet-ts', '/usr/local/lib/kubelet-ts', { recursive: true });
  await run('ln', '-sf', '/usr/local/lib/kubelet-ts/bin/kubelet-ts', '/usr/bin/kubelet');
  await mkdir('/var/lib/kubelet', { recursive: true });
  await mkdir(MANIFESTS, { recursive: true });
  await writeFile('/var/lib/kubelet/config.yaml', configuration(), { mode: 0o600 });
  const unit = (await run('find', '/payload/deploy', '-name', 'kubelet.service')).trim().split('\n')[0] ?? '';
  await cp(unit, '/etc/systemd/system/kubelet.service');
  await startWith();
}

/** Starts the agent's service, or restarts it, with further flags instead of the unit's own. */
export async function startWith(...flags: string[]): Promise<void> {
  await mkdir('/etc/systemd/system/kubelet.service.d', { recursive: true });
  const command = ['/usr/bin/kubelet', '--config=/var/lib/kubelet/config.yaml', ...flags, '--hostname-override=node', '--v=2'].join(' ');
  await writeFile('/etc/systemd/system/kubelet.service.d/standalone.conf', `[Service]\nExecStart=\nExecStart=${command}\n`);
  await run('systemctl', 'daemon-reload');
  await run('systemctl', 'restart', 'kubelet');
}

export async function healthy(seconds: number): Promise<void> {
  await until('http://127.0.0.1:10248/healthz', seconds, async () => {
    const answer = await fetch('http://127.0.0.1:10248/healthz');
    return answer.status === 200;
  });
}

/** A pod as the agent shows it; only what the checks read. */
export interface ShownPod {
  metadata: { name: string; uid: string };
  status?: {
    phase?: string;
    reason?: string;
    message?: string;
    containerStatuses?: {
      name: string;
      containerID?: string;
      restartCount: number;
      state?: { running?: object; terminated?: { reason?: string; exitCode?: number } };
      lastState?: { terminated?: { reason?: string; exitCode?: number } };
    }[];
  };
}

/** A pod of a manifest, by its name there, or one of the API server. */
export async function shownPod(name: string): Promise<ShownPod | undefined> {
  const answer = await fetch('http://127.0.0.1:10255/pods');
  const { items } = (await answer.json()) as { items: ShownPod[] | null };
  return items?.find((pod) => [`${name}-node`, name].includes(pod.metadata.name));
}

export async function runningPod(name: string, seconds = 120): Promise<ShownPod> {
  return until(`pod ${name}`, seconds, async () => {
    const pod = await shownPod(name);
    const statuses = pod?.status?.containerStatuses ?? [];
    return statuses.length > 0 && statuses.every((s) => s.state?.running !== undefined) ? pod : undefined;
  });
}
