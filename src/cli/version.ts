/** The kubelet version whose behaviour this agent has; kubeadm compares it with its own. */
export const kubernetesVersion = 'v1.37.2';
/** The project's own version. */
export const projectVersion = '0.1.0';

/** `Kubernetes v1.37.2`; `raw` gives the fields of Go's version.Info; a text such as `v1.37.0` is reported as given. */
export function versionText(request: string): string {
  if (request === 'raw') {
    const [major, minor] = kubernetesVersion.slice(1).split('.');
    const info = {
      Major: major,
      Minor: minor,
      GitVersion: kubernetesVersion,
      Platform: `${process.platform}/${goArch()}`,
      Compiler: `node ${process.version}`,
    };
    const fields = Object.entries(info).map(([name, value]) => `${name}:${JSON.stringify(value)}`);
    return `version.Info{${fields.join(', ')}}`;
  }
  return `Kubernetes ${request.startsWith('v') ? request : kubernetesVersion}`;
}

export function longVersionText(): string {
  return `${versionText('true')}\nkubelet-ts ${projectVersion} (node ${process.version})`;
}

function goArch(): string {
  if (process.arch === 'x64') return 'amd64';
  return process.arch === 'ia32' ? '386' : process.arch;
}
