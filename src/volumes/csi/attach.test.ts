import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SimClock } from '../../../test/sim/clock.ts';
import type { Node, VolumeAttachment } from '../../kube/types.ts';
import { Attachments } from './attach.ts';
import type { DriverSpec } from './csi-objects.ts';
import { attachmentName } from './names.ts';

const volume = { driver: 'd', handle: 'h' };
const unique = 'kubernetes.io/csi/d^h';
const name = attachmentName('h', 'd', 'n');
const never = new AbortController().signal;

class World {
  readonly clock = new SimClock();
  node: Node | undefined = { metadata: { name: 'n' }, status: {} };
  spec: DriverSpec | undefined;
  attachment: VolumeAttachment | undefined;
  controllerAttaches = true;
  listeners = new Set<() => void>();

  set(status: Node['status']): void {
    this.node = { metadata: { name: 'n' }, ...(status === undefined ? {} : { status }) };
    for (const listener of this.listeners) listener();
  }

  wait(signal: AbortSignal = never) {
    const attachments = new Attachments({
      objects: { driver: async () => this.spec, attachment: async (asked) => (asked === name ? this.attachment : undefined) },
      node: {
        current: () => this.node,
        subscribe: (listener) => {
          this.listeners.add(listener);
          return () => this.listeners.delete(listener);
        },
      },
      nodeName: 'n',
      clock: this.clock,
      controllerAttaches: this.controllerAttaches,
    });
    return attachments.publishContext(volume, signal);
  }
}

const attached = (status: VolumeAttachment['status'], metadata: object = {}): VolumeAttachment => ({
  metadata: { name, ...metadata },
  spec: { attacher: 'd', nodeName: 'n', source: {} },
  ...(status === undefined ? {} : { status }),
});

describe('attachment of a volume', () => {
  it('is not waited for where the driver needs none', async () => {
    const world = new World();
    world.spec = { attachRequired: false };
    assert.equal(await world.wait(), undefined);
  });

  it('is waited for until the node is reported to use it and the control plane has attached it', async () => {
    const world = new World();
    world.attachment = attached({ attached: true, attachmentMetadata: { lun: '3' } });
    const context = world.wait();
    await world.clock.advance(1);
    world.set({ volumesInUse: [unique] });
    await world.clock.advance(1);
    assert.equal(world.listeners.size, 1);
    world.set({ volumesInUse: [unique], volumesAttached: [{ name: unique, devicePath: '' }] });
    assert.deepEqual(await context, { lun: '3' });
    assert.equal(world.listeners.size, 0);
    assert.equal(world.clock.pending, 0);
  });

  it('that does not come is told as what is missing', async () => {
    const world = new World();
    const first = assert.rejects(world.wait(), /has not been added to the list of VolumesInUse/);
    await world.clock.advance(20_000);
    await first;
    world.set({ volumesInUse: [unique] });
    const second = assert.rejects(world.wait(), /^VolumeError: Volume not attached according to node status$/);
    await world.clock.advance(20_000);
    await second;
    world.set({ volumesInUse: [unique], volumesAttached: [{ name: unique, devicePath: '' }] });
    const texts: [VolumeAttachment | undefined, RegExp][] = [
      [undefined, /volumeattachments\.storage\.k8s\.io "csi-[0-9a-f]{64}" not found/],
      [attached(undefined), /volume h is not attached for volume attachment csi-/],
      [attached({ attached: false, attachError: { message: 'rpc error: no such disk' } }), /rpc error: no such disk/],
      [attached({ attached: true }, { deletionTimestamp: '2030-01-01T00:00:00Z' }), /volume attachment is being deleted/],
    ];
    for (const [attachment, text] of texts) {
      world.attachment = attachment;
      await assert.rejects(world.wait(), text);
    }
  });

  it("is the control plane's work, and is given up when the pod stops", async () => {
    const world = new World();
    world.controllerAttaches = false;
    await assert.rejects(world.wait(), /attaching volumes from the kubelet is not supported/);
    world.controllerAttaches = true;
    const stop = new AbortController();
    const waiting = assert.rejects(world.wait(stop.signal), /AbortError/);
    await world.clock.advance(1);
    stop.abort();
    await waiting;
    assert.equal(world.listeners.size, 0);
  });
});
