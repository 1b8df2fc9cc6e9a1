import fc from 'fast-check';
import type { Container, Pod } from '../../src/api/types.ts';

/** A container of a Guaranteed pod. */
export function guaranteedContainer(name: string, cpu: string, memory = '1Gi', more: Record<string, string> = {}): Container {
  const list = { cpu, memory, ...more };
  return { name, image: 'i', resources: { requests: { ...list }, limits: { ...list } } };
}

export function podOf(uid: string, containers: Container[], initContainers: Container[] = []): Pod {
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers, initContainers } };
}

/** Guaranteed pods with init containers and sidecars, by what each container asks for. */
export function guaranteedPods(cpu: fc.Arbitrary<string>, memory: fc.Arbitrary<string>, maxPods = 6, minPods = 1): fc.Arbitrary<Pod[]> {
  const container = fc.record({ cpu, memory, sidecar: fc.boolean() });
  const pod = fc.record({
    init: fc.array(container, { maxLength: 3 }),
    regular: fc.array(container, { minLength: 1, maxLength: 2 }),
  });
  return fc.array(pod, { minLength: minPods, maxLength: maxPods }).map((pods) =>
    pods.map(({ init, regular }, i) =>
      podOf(
        `pod-${i}`,
        regular.map((c, n) => guaranteedContainer(`c${n}`, c.cpu, c.memory)),
        init.map((c, n) => ({
          ...guaranteedContainer(`i${n}`, c.cpu, c.memory),
          ...(c.sidecar ? { restartPolicy: 'Always' as const } : {}),
        })),
      ),
    ),
  );
}

/** A pod's containers in the order in which they are admitted. */
export const containersOf = (pod: Pod): Container[] => [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
