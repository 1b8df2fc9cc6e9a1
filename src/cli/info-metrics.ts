import { podUid } from '../api/brands.ts';
import { isStaticPod } from '../api/pod.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RealNode } from './node.ts';
import { kubernetesVersion } from './version.ts';

/** Metrics that say what this agent is, and gauges of the pods' work that are read at each scrape (contract metrics.md §1a). */
export function observeNode(registry: Metrics, { kubelet, cgroupFs }: Pick<RealNode, 'kubelet' | 'cgroupFs'>): void {
  registry.gauge('kubelet_cgroup_version', '[ALPHA] cgroup version on the hosts.').set(cgroupFs.version);
  registry
    .gauge('kubelet_metrics_provider', '[ALPHA] Where figures of pods and containers come from', ['provider'])
    .set(1, { provider: 'cadvisor' });
  const ephemeral = registry.gauge('kubelet_managed_ephemeral_containers', '[ALPHA] Ephemeral containers of the pods that are managed');
  const working = registry.gauge('kubelet_working_pods', '[ALPHA] Pods that are being worked on', ['lifecycle', 'config', 'static']);
  registry.collect(() => {
    const pods = kubelet.pods();
    ephemeral.set(pods.reduce((sum, { spec }) => sum + (spec.ephemeralContainers?.length ?? 0), 0));
    const desired = new Set(pods.map((pod) => podUid(pod.metadata.uid)));
    working.reset();
    const counts = new Map<string, { labels: { lifecycle: string; config: string; static: string }; count: number }>();
    for (const { phase, pod } of kubelet.dispatcher.states()) {
      const labels = {
        lifecycle: phase === 'sync' || phase === 'terminating' ? phase : 'terminated',
        config: desired.has(podUid(pod.metadata.uid)) ? 'desired' : 'orphan',
        static: isStaticPod(pod) ? 'true' : '',
      };
      const key = JSON.stringify(labels);
      const known = counts.get(key) ?? { labels, count: 0 };
      known.count++;
      counts.set(key, known);
    }
    for (const { labels, count } of counts.values()) working.set(count, labels);
  });
  const [major = '', minor = ''] = kubernetesVersion.slice(1).split('.');
  registry
    .gauge('kubernetes_build_info', '[ALPHA] The version of Kubernetes whose behaviour this is', [
      'major',
      'minor',
      'git_version',
      'platform',
    ])
    .set(1, {
      major,
      minor,
      git_version: kubernetesVersion,
      platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
    });
}
