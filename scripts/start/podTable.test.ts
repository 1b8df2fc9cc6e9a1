import assert from 'node:assert/strict';
import test from 'node:test';
import { describeRow, formatAge, manifestError, podRows, renderTable } from './podTable.ts';

const list = {
  items: [
    {
      metadata: { name: 'web-node' },
      spec: { containers: [{}] },
      status: {
        phase: 'Running',
        podIP: '10.0.0.2',
        startTime: '2024-01-01T00:00:00Z',
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [{ ready: true, restartCount: 1, state: {}, lastState: { terminated: { exitCode: 3, reason: 'Error' } } }],
      },
    },
    {
      metadata: { name: 'bad-node' },
      spec: { containers: [{}, {}] },
      status: { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ErrImagePull', message: 'no such\nimage' } } }] },
    },
    { metadata: { name: 'new-node' } },
  ],
};

test('rows tell phase, readiness, restarts, address, age and the reason', () => {
  const rows = podRows(list, Date.parse('2024-01-01T00:00:30Z'));
  assert.deepEqual(rows, [
    {
      name: 'bad-node',
      phase: 'Pending',
      ready: false,
      containers: '0/2',
      restarts: 0,
      ip: '',
      ageMs: undefined,
      message: 'ErrImagePull: no such\nimage',
    },
    { name: 'new-node', phase: 'Pending', ready: false, containers: '0/0', restarts: 0, ip: '', ageMs: undefined, message: '' },
    {
      name: 'web-node',
      phase: 'Running',
      ready: true,
      containers: '1/1',
      restarts: 1,
      ip: '10.0.0.2',
      ageMs: 30_000,
      message: 'last exit 3 (Error)',
    },
  ]);
  assert.equal(describeRow(rows[2] ?? assert.fail()), 'web-node  Running  1/1  ready  10.0.0.2  restarts 1  last exit 3 (Error)');
});

test('the table is aligned, on one line a pod, and no wider than the terminal', () => {
  const lines = renderTable(podRows(list, 0), 60);
  assert.equal(lines.length, 4);
  assert.ok(lines.every((l) => l.length <= 60));
  assert.equal(lines[0], 'NAME      PHASE    READY  RESTARTS  IP        AGE  MESSAGE');
  assert.match(lines[1] ?? '', /^bad-node {2}Pending {2}0\/2 {4}0 +ErrImageP$/);
});

test('a list without items and ages of every size', () => {
  assert.deepEqual(podRows({ items: null }, 0), []);
  assert.deepEqual([0, 119_999, 120_000, 7_200_000, 172_800_000].map(formatAge), ['0s', '119s', '2m', '2h', '2d']);
  assert.equal(formatAge(undefined), '');
});

test('a refused manifest is told as the agent logged it, by its name', () => {
  const line = String.raw`E1130 13:07:41.2 15569 a.mjs:61] "Could not process manifest file" err="/x y/m/dep.yaml:1:13: apiVersion: want v1, not \"apps/v1\"" path="/x y/m/dep.yaml"`;
  assert.equal(manifestError(line, '/x y/m'), 'dep.yaml:1:13: apiVersion: want v1, not "apps/v1"');
  assert.equal(manifestError('W1130 something else', '/m'), 'W1130 something else');
});
