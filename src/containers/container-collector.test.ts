import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nanos, record } from '../../test/support/status-fixtures.ts';
import { CriError } from '../cri/errors.ts';
import type { Container, PodSandbox } from '../cri/types.ts';
import type { DirEntry, FileInfo } from '../host/files.ts';
import { silentLogger } from '../observe/log.ts';
import { ContainerCollector } from './container-collector.ts';
import { defaultContainerGcPolicy } from './container-gc.ts';
import { ContainerRemover } from './remove-container.ts';

const file: FileInfo = { kind: 'file', size: 0, mode: 0o644, mtimeMs: 0 };
const exited = (uid: string, name: string, at: number, over: Partial<Container> = {}): Container => ({
  id: `${name}${at}`,
  podSandboxId: 'box',
  metadata: { name, attempt: 0 },
  image: { image: '' },
  imageRef: '',
  imageId: '',
  state: 'exited',
  createdAt: nanos(at),
  labels: { 'io.kubernetes.pod.uid': uid },
  annotations: {},
  ...over,
});

interface World {
  containers?: Container[];
  sandboxes?: PodSandbox[];
  pods?: DirEntry[];
  links?: DirEntry[];
  living?: string[];
  states?: Record<string, 'running' | 'exited'>;
  sourcesReady?: boolean;
  fail?: string;
}

function setUp(world: World) {
  const done: string[] = [];
  const act = (what: string) => async () => {
    if (what === world.fail) throw new Error(`${what} failed`);
    done.push(what);
  };
  const collector = new ContainerCollector({
    runtime: {
      listContainers: async () => {
        if (world.fail === 'list') throw new CriError('Unavailable', 'ListContainers', 'no runtime');
        return world.containers ?? [];
      },
      listPodSandbox: async () => world.sandboxes ?? [],
      stopContainer: (id, seconds) => act(`stop ${id} ${seconds}`)(),
      stopPodSandbox: (id) => act(`stopbox ${id}`)(),
      removePodSandbox: (id) => act(`rmbox ${id}`)(),
      containerStatus: async (id) => {
        const state = world.states?.[id];
        if (!state) throw new CriError('NotFound', 'ContainerStatus', 'gone');
        return record('a', { state }).status;
      },
    },
    files: {
      list: async (path) => (path === '/pods' ? world.pods : world.links) ?? [],
      stat: async (path) => (path.endsWith('whole-abcdef.log') ? file : undefined),
      unlink: (path) => act(`unlink ${path}`)(),
      removeTree: (path) => act(`rmtree ${path}`)(),
    },
    remover: { remove: (id) => act(`rm ${id}`)() },
    pods: { isPodDeletedOrUnknown: (uid) => !(world.living ?? []).includes(uid), sourcesReady: () => world.sourcesReady ?? true },
    clock: { now: () => Number(nanos(1000) / 1_000_000n) },
    log: silentLogger,
    policy: defaultContainerGcPolicy,
    podLogsDir: '/pods',
    containerLogsDir: '/links',
  });
  return { collector, done };
}
const dir = (name: string): DirEntry => ({ name, kind: 'directory' });
const link = (name: string): DirEntry => ({ name, kind: 'symlink' });

test('a round removes containers, then sandboxes, then what they left in the log directories', async () => {
  const box: PodSandbox = {
    id: 'box2',
    metadata: { name: 'p', uid: 'gone', namespace: 'n', attempt: 0 },
    state: 'notready',
    createdAt: 0n,
    labels: {},
    annotations: {},
    runtimeHandler: '',
  };
  const { collector, done } = setUp({
    containers: [exited('u', 'a', 2), exited('u', 'a', 1), exited('gone', 'b', 3)],
    sandboxes: [box],
    pods: [dir('n_p_gone'), dir('n_p_u'), dir('lost+found'), { name: 'n_q_gone', kind: 'symlink' }],
    links: [
      link('p_n_a-whole-abcdef.log'),
      link('p_n_a-123456.log'),
      link('p_n_a-run456.log'),
      link('p_n_a-end456.log'),
      { name: 'x_n_a-123456.log', kind: 'file' },
    ],
    living: ['u'],
    states: { run456: 'running', end456: 'exited' },
  });
  await collector.collect();
  assert.deepEqual(done, [
    'rm a1',
    'rm b3',
    'stopbox box2',
    'rmbox box2',
    'rmtree /pods/n_p_gone',
    'unlink /links/p_n_a-123456.log',
    'unlink /links/p_n_a-end456.log',
  ]);
});

test('until every source has spoken nothing counts as gone', async () => {
  const { collector, done } = setUp({ containers: [exited('gone', 'b', 3)], pods: [dir('n_p_gone')], sourcesReady: false });
  await collector.collect();
  assert.deepEqual(done, []);
});

test('a container in an unknown state is stopped first, with the grace that its pod asked for', async () => {
  const annotations = { 'io.kubernetes.pod.terminationGracePeriod': '7' };
  const containers = [exited('gone', 'a', 1, { state: 'unknown', annotations }), exited('gone', 'b', 2, { state: 'unknown' })];
  const { collector, done } = setUp({ containers });
  await collector.collect();
  assert.deepEqual(done, ['stop a1 7', 'rm a1', 'stop b2 2', 'rm b2']);
});

test('one that will not go holds nothing up', async () => {
  const { collector, done } = setUp({ containers: [exited('gone', 'a', 1), exited('gone', 'b', 2)], fail: 'rm a1' });
  await collector.collect();
  assert.deepEqual(done, ['rm b2']);
});

test('a step that fails is told at the end, after the other steps', async () => {
  const { collector, done } = setUp({ pods: [dir('n_p_gone')], fail: 'list' });
  await assert.rejects(collector.collect(), /no runtime/);
  assert.deepEqual(done, ['rmtree /pods/n_p_gone']);
});

test('an aborted round does nothing more', async () => {
  const { collector, done } = setUp({ containers: [exited('gone', 'a', 1)] });
  await collector.collect(AbortSignal.abort());
  assert.deepEqual(done, []);
});

test('removing a container removes its logs and its link, and only inside the log directory', async () => {
  const done: string[] = [];
  const removerFor = (logPath: string, gone = false) =>
    new ContainerRemover({
      runtime: {
        containerStatus: async () => {
          if (gone) throw new CriError('NotFound', 'ContainerStatus', 'gone');
          const labels = { 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'n', 'io.kubernetes.container.name': 'a' };
          return record('a', { state: 'exited', status: { logPath, labels } }).status;
        },
        removeContainer: async (id) => void done.push(`rm ${id}`),
      },
      files: {
        list: async () => ['1.log', '1.log.20300102-030405.gz', '10.log'].map((name) => ({ name, kind: 'file' as const })),
        unlink: async (path) => void done.push(path),
      },
      podLogsDir: '/pods',
      containerLogsDir: '/links',
      beforeRemove: (id) => void done.push(`before ${id}`),
    });
  await removerFor('/pods/n_p_u/a/1.log').remove('id1');
  assert.deepEqual(done.splice(0), [
    'before id1',
    '/pods/n_p_u/a/1.log',
    '/pods/n_p_u/a/1.log.20300102-030405.gz',
    '/links/p_n_a-id1.log',
    'rm id1',
  ]);
  await removerFor('/pods/../etc/passwd').remove('id1');
  assert.deepEqual(done.splice(0), ['before id1', '/links/p_n_a-id1.log', 'rm id1']);
  await removerFor('/pods/n_p_u/a/1.log').remove('id1', true);
  assert.deepEqual(done.splice(0), ['before id1', 'rm id1']);
  await removerFor('/pods/n_p_u/a/1.log', true).remove('id1');
  assert.deepEqual(done, ['before id1'], 'the runtime has no such container any more');
});
