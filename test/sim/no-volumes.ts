import type { Container, Pod } from '../../src/api/types.ts';
import type { Device, Mount } from '../../src/cri/types.ts';

/** A simulated node mounts nothing: pods without volumes pass, others are told which of theirs is in the way. */
export class NoVolumes {
  async mount(pod: Pod): Promise<void> {
    const volumes = pod.spec.volumes ?? [];
    if (volumes.length === 0) return;
    const list = volumes.map((v) => `${v.name} (${Object.keys(v).find((key) => key !== 'name') ?? 'no source'})`);
    throw new Error(`Unable to attach or mount volumes: this agent has no volume plug-ins yet; unmounted volumes=[${list.join(' ')}]`);
  }

  async refresh(): Promise<void> {}

  async unmount(): Promise<void> {}

  async mountsOf(_pod: Pod, _container: Container): Promise<Mount[]> {
    return [];
  }

  async devicesOf(): Promise<Device[]> {
    return [];
  }

  groupsOf(): number[] {
    return [];
  }

  async readFile(_pod: Pod, volume: string): Promise<Buffer> {
    throw new Error(`the pod has no volume ${JSON.stringify(volume)}`);
  }
}
