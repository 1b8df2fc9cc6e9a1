import fc from 'fast-check';
import { CpuTopology } from '../../src/resources/cpu/topology.ts';

/** How a machine is built up. NUMA nodes are parts of a socket, or sockets are parts of a NUMA node. */
export interface MachineShape {
  sockets: number;
  /** For each socket; or with `socketsPerNuma` above 1 ignored. */
  numaPerSocket: number;
  socketsPerNuma: number;
  uncoresPerNuma: number;
  coresPerUncore: number;
  threads: number;
  /** Threads of a core have neighbouring numbers, or the second ones come after all first ones. */
  neighbours: boolean;
}

export function machineOf(shape: MachineShape): CpuTopology {
  const { sockets, socketsPerNuma, uncoresPerNuma, coresPerUncore, threads } = shape;
  const numaPerSocket = socketsPerNuma > 1 ? 1 : shape.numaPerSocket;
  const cores: { socket: number; numa: number; uncore: number }[] = [];
  for (let socket = 0; socket < sockets; socket++) {
    for (let n = 0; n < numaPerSocket; n++) {
      const numa = socketsPerNuma > 1 ? Math.floor(socket / socketsPerNuma) : socket * numaPerSocket + n;
      for (let u = 0; u < uncoresPerNuma; u++) {
        for (let c = 0; c < coresPerUncore; c++) cores.push({ socket, numa, uncore: (socket * numaPerSocket + n) * uncoresPerNuma + u });
      }
    }
  }
  const places = cores.flatMap((place, index) =>
    Array.from({ length: threads }, (_, t) => {
      const cpu = shape.neighbours ? index * threads + t : index + t * cores.length;
      return { ...place, cpu, core: shape.neighbours ? index * threads : index };
    }),
  );
  return new CpuTopology(places);
}

/** Machines of up to 64 CPUs. */
export const machineShapes: fc.Arbitrary<MachineShape> = fc.record({
  sockets: fc.integer({ min: 1, max: 4 }),
  numaPerSocket: fc.integer({ min: 1, max: 2 }),
  socketsPerNuma: fc.constantFrom(1, 1, 1, 2),
  uncoresPerNuma: fc.constantFrom(1, 1, 2),
  coresPerUncore: fc.integer({ min: 1, max: 4 }),
  threads: fc.constantFrom(1, 2),
  neighbours: fc.boolean(),
});

/** CPUs of a machine, chosen by a list of numbers. */
export function someOf(cpus: Iterable<number>, choice: readonly number[]): number[] {
  return [...cpus].filter((_, i) => (choice[i % Math.max(1, choice.length)] ?? 0) % 3 !== 0);
}
