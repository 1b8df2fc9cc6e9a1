import type { Container, Pod, RestartPolicy } from '../../src/api/types.ts';
import { type Behaviour, behaviourOf, ownEnd, simCommand } from './behaviour.ts';
import type { SimRandom } from './random.ts';

/** What a random pod may hold. */
export interface PodChoices {
  /** Images to choose from; those that hold `missing` can never be pulled. */
  images?: readonly string[];
  initContainers?: boolean;
  sidecars?: boolean;
  /** Pods that never end well: commands that do not exist, images that are missing. */
  broken?: boolean;
  hostNetwork?: boolean;
}

const restartPolicies = ['Always', 'OnFailure', 'Never'] as const satisfies readonly RestartPolicy[];

/** A static pod as a source hands it on: defaulted, with its UID and source annotations. */
export function simPod(name: string, uid: string, spec: Partial<Pod['spec']> & { containers: Container[] }): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      uid,
      annotations: {
        'kubernetes.io/config.source': 'file',
        'kubernetes.io/config.hash': uid,
        'kubernetes.io/config.seen': '2026-01-01T00:00:00Z',
      },
    },
    spec: {
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      enableServiceLinks: true,
      schedulerName: 'default-scheduler',
      nodeName: 'sim-node',
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
      ...spec,
    },
    status: { phase: 'Pending' },
  };
}

/** A pod as the API server gives it. */
export function apiPod(name: string, uid: string, spec: Partial<Pod['spec']> & { containers: Container[] }): Pod {
  const pod = simPod(name, uid, spec);
  return { ...pod, metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.source': 'api' } } };
}

/** A container that behaves as told. */
export function simContainer(name: string, behaviour: Behaviour = {}, extra: Partial<Container> = {}): Container {
  return {
    name,
    image: 'sim.local/busybox:1',
    command: simCommand(behaviour),
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    securityContext: {},
    ...extra,
  };
}

export function randomUid(random: SimRandom): string {
  return random.hex(16);
}

/** A random pod. Its behaviour is a function of the pod alone, so what must become of it can be worked out: `expectationOf`. */
export function randomPod(random: SimRandom, name: string, choices: PodChoices = {}): Pod {
  const restartPolicy = random.pick(restartPolicies);
  const images = choices.images ?? ['sim.local/busybox:1', 'sim.local/app:2', 'sim.local/web:3'];
  const resources = { requests: { cpu: '50m' }, limits: { cpu: '100m' } };
  const container = (n: string, behaviour: Behaviour) => simContainer(n, behaviour, { image: random.pick(images), resources });
  const containers = Array.from({ length: random.int(1, 3) }, (_, i) => container(`c${i}`, randomBehaviour(random)));
  const initContainers: Container[] = [];
  if (choices.initContainers !== false && random.chance(0.4)) {
    for (let i = random.int(1, 3); i > 0; i--) initContainers.push(container(`i${i}`, randomInit(random)));
  }
  if (choices.sidecars !== false && random.chance(0.25)) {
    initContainers.splice(random.int(0, initContainers.length), 0, {
      ...container('side', { term: randomTerm(random) }),
      restartPolicy: 'Always',
    });
  }
  if (choices.broken && random.chance(0.15)) {
    const victim = random.pick(containers);
    if (random.chance(0.5)) victim.image = 'sim.local/missing:1';
    else
      victim.command = simCommand(
        random.chance(0.5) ? { startError: 'exec: "/nope": stat /nope: no such file or directory' } : { createError: 'refused' },
      );
  }
  return simPod(name, randomUid(random), {
    containers,
    restartPolicy,
    terminationGracePeriodSeconds: random.pick([0, 1, 2, 5, 10, 30, 60]),
    ...(initContainers.length > 0 ? { initContainers } : {}),
    ...(choices.hostNetwork !== false && random.chance(0.15) ? { hostNetwork: true } : {}),
  });
}

function randomTerm(random: SimRandom): number | 'ignore' {
  return random.chance(0.3) ? 'ignore' : random.pick([1, 50, 800, 1900, 4000]);
}

function randomBehaviour(random: SimRandom): Behaviour {
  const b: Behaviour = { term: randomTerm(random) };
  if (random.chance(0.3)) b.termCode = 0;
  if (random.chance(0.5)) return b;
  b.runMs = random.pick([1, 20, 300, 1000, 5000, 20_000]);
  b.exitCodes = random.pick([[0], [1], [1, 0], [137, 1, 0], [0, 1, 0]]);
  if (random.chance(0.3)) b.recoversAt = random.int(1, 4);
  return b;
}

function randomInit(random: SimRandom): Behaviour {
  return { runMs: random.pick([1, 100, 2000]), exitCodes: random.pick([[0], [0], [0], [1, 0], [2, 1, 0], [1]]), term: randomTerm(random) };
}

/** Where a pod must end when nothing disturbs it; `loops`: it restarts for ever. */
export type Expectation = 'runs' | 'loops' | 'Succeeded' | 'Failed' | 'stuck';

/**
 * What must become of an undisturbed pod, worked out from its spec by simulating attempts one after another: an
 * oracle that shares nothing with the planner. `stuck`: some container can never be made.
 */
export function expectationOf(pod: Pod): Expectation {
  const policy = pod.spec.restartPolicy ?? 'Always';
  for (const c of pod.spec.initContainers ?? []) {
    if (c.restartPolicy === 'Always') continue;
    const fate = fateOf(c, policy === 'Always' ? 'OnFailure' : policy);
    if (fate === 'stuck' || fate === 'loops') return fate;
    if (fate === 'failed') return 'Failed';
  }
  const fates = pod.spec.containers.map((c) => fateOf(c, policy));
  if (fates.includes('stuck')) return 'stuck';
  if (fates.includes('loops')) return 'loops';
  if (fates.includes('runs')) return 'runs';
  return fates.includes('failed') ? 'Failed' : 'Succeeded';
}

function fateOf(c: Container, policy: RestartPolicy): 'runs' | 'loops' | 'done' | 'failed' | 'stuck' {
  const b = behaviourOf(c.command ?? []);
  if ((c.image ?? '').includes('missing') || b.createError !== undefined) return 'stuck';
  if (b.startError !== undefined) return policy === 'Never' ? 'failed' : 'loops';
  const horizon = Math.max((b.exitCodes ?? []).length, (b.recoversAt ?? 0) + 1, 1);
  for (let attempt = 0; attempt < horizon; attempt++) {
    const end = ownEnd(b, attempt);
    if (!end) return 'runs';
    if (policy === 'Never') return end.exitCode === 0 ? 'done' : 'failed';
    if (policy === 'OnFailure' && end.exitCode === 0) return 'done';
  }
  return 'loops';
}
