import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Quantity } from '../../api/quantity.ts';
import type { PersistentVolumeClaim } from '../../kube/types.ts';
import { expansionStep, failedPatch, finishedPatch, inProgressPatch } from './expansion.ts';

const pv = (storage: string) => ({ metadata: { name: 'pv' }, spec: { capacity: { storage } } });
const claim = (status: NonNullable<PersistentVolumeClaim['status']>): PersistentVolumeClaim => ({
  metadata: { name: 'c', resourceVersion: '7' },
  spec: {},
  status,
});
const stepOf = (...args: Parameters<typeof expansionStep>) => {
  const step = expansionStep(...args);
  return step.kind === 'expand' ? `${step.size.toString()}${step.isTracked ? ' tracked' : ''}` : step.kind;
};

describe('expansion on the node', () => {
  it('is due when the volume is larger than the claim knows', () => {
    assert.equal(stepOf(pv('2Gi'), claim({ capacity: { storage: '2Gi' } }), false), 'none');
    assert.equal(stepOf(pv('1Gi'), claim({ capacity: { storage: '2Gi' } }), false), 'none');
    assert.equal(stepOf(pv('2Gi'), claim({ capacity: { storage: '1Gi' } }), false), '2Gi');
    assert.equal(stepOf(pv('2Gi'), claim({ capacity: { storage: '1Gi' } }), true), 'read-only');
    assert.equal(stepOf(pv('2Gi'), claim({}), false), 'none');
  });

  it('waits for its turn where the controller follows it', () => {
    const tracked = (storage: string) =>
      claim({ capacity: { storage: '1Gi' }, allocatedResources: { storage: '3Gi' }, allocatedResourceStatuses: { storage } });
    assert.equal(stepOf(pv('2Gi'), tracked('NodeResizePending'), false), '3Gi tracked');
    assert.equal(stepOf(pv('2Gi'), tracked('NodeResizeInProgress'), false), '3Gi tracked');
    assert.equal(stepOf(pv('2Gi'), tracked('NodeResizeInfeasible'), false), 'none');
    assert.equal(stepOf(pv('2Gi'), tracked('ControllerResizeInProgress'), false), 'none');
  });

  it('writes only on the claim that it looked at, and takes its conditions away', () => {
    const before = claim({
      capacity: { storage: '1Gi' },
      conditions: [
        { type: 'FileSystemResizePending', status: 'True' },
        { type: 'Other', status: 'True' },
      ],
    });
    assert.deepEqual(inProgressPatch(before), {
      metadata: { resourceVersion: '7' },
      status: { allocatedResourceStatuses: { storage: 'NodeResizeInProgress' } },
    });
    assert.deepEqual(finishedPatch(before, Quantity.parse('2Gi')), {
      metadata: { resourceVersion: '7' },
      status: {
        capacity: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: null },
        conditions: [{ type: 'FileSystemResizePending', $patch: 'delete' }],
      },
    });
    assert.deepEqual(failedPatch('why', true, 'now'), {
      status: {
        allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
        conditions: [{ type: 'NodeResizeError', status: 'True', lastTransitionTime: 'now', message: 'failed to expand pvc with why' }],
      },
    });
  });
});
