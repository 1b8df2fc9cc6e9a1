import type { Pressure } from './observations.ts';

const All: readonly Pressure[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The pressures of the node as the last look found them: for admission and the node's status. */
export class NodePressures {
  #present: ReadonlySet<Pressure> = new Set();

  set(present: ReadonlySet<Pressure>): void {
    this.#present = present;
  }

  /** Always in the same order. */
  list(): Pressure[] {
    return All.filter((pressure) => this.#present.has(pressure));
  }

  flags(): Record<Pressure, boolean> {
    const has = (pressure: Pressure) => this.#present.has(pressure);
    return { MemoryPressure: has('MemoryPressure'), DiskPressure: has('DiskPressure'), PIDPressure: has('PIDPressure') };
  }
}
