/** What one run of the suite is told, written as JSON by `runSuite` and read by `inside.ts` in the namespaces. */
export interface SuiteSettings {
  /** The run's folder. */
  dir: string;
  /** Folder of the image store. */
  images: string;
  suite: string;
  ginkgo: string;
  kubelet: string;
  containerd: string;
  containerdVersion: { major: number; minor: number };
  cniBinDir: string;
  snapshotter: 'overlayfs' | 'native';
  restrictOomScoreAdj: boolean;
  /** How many specs run side by side. */
  processes: number;
  /** Regular expressions of ginkgo's. */
  focus: readonly string[];
  timeoutMinutes: number;
  /** `Name=true,…`, empty for none. */
  featureGates: string;
}

/** Files in the run's folder. */
export const SUITE_FILES = {
  settings: 'settings.json',
  log: 'e2e.log',
  report: 'report/report.json',
  kubeletLog: 'report/kubelet.log',
  containerdLog: 'containerd.log',
  restarts: 'units.log',
} as const;

/** A line of `inside.ts` on its standard output: how far the suite is. */
export interface SuiteProgress {
  /** What goes on before the first spec. */
  stage?: string;
  done?: number;
  failed?: number;
  /** Name of a spec that has just failed. */
  failure?: string;
}

/** The address of the node on its eth0; `enter.sh` sets it. */
export const NODE_ADDRESS = '172.31.250.2';

/**
 * The suite's own settings for nodes, and what this host asks for: cgroup v1 allowed, and, where no systemd is, the system
 * group that the Summary API's spec looks for.
 */
export const kubeletConfig = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  failCgroupV1: false,
  cgroupDriver: 'cgroupfs',
  cgroupRoot: '/',
  systemCgroups: '/system',
  podCIDR: '10.100.0.0/24',
  volumeStatsAggPeriod: '10s',
  fileCheckFrequency: '10s',
  evictionPressureTransitionPeriod: '30s',
  evictionHard: { 'memory.available': '250Mi', 'nodefs.available': '10%', 'nodefs.inodesFree': '5%' },
  evictionMinimumReclaim: { 'nodefs.available': '5%', 'nodefs.inodesFree': '5%' },
  serializeImagePulls: false,
};
