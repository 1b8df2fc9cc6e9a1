/** What a private containerd is to be; all paths are absolute. */
export interface ContainerdSettings {
  /** Major and minor version of the binary: 1.x reads configuration version 2, 2.x reads version 3. */
  version: { major: number; minor: number };
  root: string;
  state: string;
  socket: string;
  pauseImage: string;
  cniBinDir: string;
  cniConfDir: string;
  /** Folder with registry hosts (`certs.d`), empty when absent. */
  registryDir: string;
  /** Never lower oom_score_adj below containerd's own: needed without CAP_SYS_RESOURCE. */
  restrictOomScoreAdj: boolean;
  snapshotter: 'overlayfs' | 'native';
}

/** A TOML basic string: JSON's escapes are valid TOML for the paths and names used here. */
const str = (text: string) => JSON.stringify(text);

/** The text of config.toml. Everything that containerd would otherwise put outside its folders is moved into them. */
export function containerdConfig(s: ContainerdSettings): string {
  const common = `root = ${str(s.root)}
state = ${str(s.state)}
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.erofs", "io.containerd.nri.v1.nri"]

[grpc]
  address = ${str(s.socket)}
[ttrpc]
  address = ${str(`${s.socket}.ttrpc`)}
[plugins."io.containerd.internal.v1.opt"]
  path = ${str(`${s.root}/opt`)}
`;
  return s.version.major >= 2 ? `version = 3\n${common}${criV3(s)}` : `version = 2\n${common}${criV2(s)}`;
}

function criV2(s: ContainerdSettings): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `[${cri}]
  sandbox_image = ${str(s.pauseImage)}
  restrict_oom_score_adj = ${s.restrictOomScoreAdj}
  netns_mounts_under_state_dir = true
  [${cri}.registry]
    config_path = ${str(s.registryDir)}
  [${cri}.cni]
    bin_dir = ${str(s.cniBinDir)}
    conf_dir = ${str(s.cniConfDir)}
  [${cri}.containerd]
    snapshotter = ${str(s.snapshotter)}
    default_runtime_name = "runc"
${runcRuntime(cri, s)}`;
}

function criV3(s: ContainerdSettings): string {
  const images = 'plugins."io.containerd.cri.v1.images"';
  const runtime = 'plugins."io.containerd.cri.v1.runtime"';
  // 2.1 renamed bin_dir to bin_dirs.
  const binDir = s.version.major > 2 || s.version.minor >= 1 ? `bin_dirs = [${str(s.cniBinDir)}]` : `bin_dir = ${str(s.cniBinDir)}`;
  return `[${images}]
  snapshotter = ${str(s.snapshotter)}
  use_local_image_pull = true
  [${images}.pinned_images]
    sandbox = ${str(s.pauseImage)}
  [${images}.registry]
    config_path = ${str(s.registryDir)}
[plugins."io.containerd.grpc.v1.cri"]
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
[${runtime}]
  restrict_oom_score_adj = ${s.restrictOomScoreAdj}
  netns_mounts_under_state_dir = true
  [${runtime}.cni]
    ${binDir}
    conf_dir = ${str(s.cniConfDir)}
  [${runtime}.containerd]
    default_runtime_name = "runc"
${runcRuntime(runtime, s)}`;
}

/** Two handlers with the same runtime: `runc`, and `test-handler` for RuntimeClass tests. */
function runcRuntime(plugin: string, s: ContainerdSettings): string {
  return ['runc', 'test-handler']
    .map(
      (name) => `    [${plugin}.containerd.runtimes.${name}]
      runtime_type = "io.containerd.runc.v2"
      [${plugin}.containerd.runtimes.${name}.options]
        Root = ${str(`${s.state}/runc`)}
        SystemdCgroup = false
`,
    )
    .join('');
}

/** Reads `containerd --version`, for example `containerd github.com/containerd/containerd 1.6.20~ds1 …` or `… v2.1.0 …`. */
export function parseContainerdVersion(text: string): { major: number; minor: number } | undefined {
  const found = /\sv?([0-9]+)\.([0-9]+)\.[0-9]/.exec(text);
  return found === null ? undefined : { major: Number(found[1]), minor: Number(found[2]) };
}

/** The CNI network of one run. `network` is also in the comment of every iptables rule that the plugins make. */
export function cniConfig(o: { network: string; bridge: string; subnet: string; dataDir: string; portMappings: boolean }): string {
  return JSON.stringify(
    {
      cniVersion: '1.0.0',
      name: o.network,
      plugins: [
        {
          type: 'bridge',
          bridge: o.bridge,
          isGateway: true,
          ipMasq: false,
          hairpinMode: true,
          ipam: { type: 'host-local', dataDir: o.dataDir, ranges: [[{ subnet: o.subnet }]], routes: [{ dst: '0.0.0.0/0' }] },
        },
        ...(o.portMappings ? [{ type: 'portmap', capabilities: { portMappings: true } }] : []),
      ],
    },
    null,
    2,
  );
}
