import assert from 'node:assert/strict';
import test from 'node:test';
import { localFilesystems, parseDiskstats } from './block-devices.ts';
import { parseMountInfo } from './mounts.ts';
import { openFilesOf, parseNetDev, softFileLimit } from './process-stats.ts';

test('interfaces of a net/dev file, without loopback and the host ends of container links', () => {
  const text = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     100       2    0    0    0     0          0         0      100       2    0    0    0     0       0          0
  eth0:1000 20 3 4 0 0 0 0 500 6 7 8 0 0 0 0
veth12ab: 1 1 1 1 0 0 0 0 1 1 1 1 0 0 0 0
`;
  assert.deepEqual(parseNetDev(text), [
    { name: 'eth0', rxBytes: 1000, rxPackets: 20, rxErrors: 3, rxDropped: 4, txBytes: 500, txPackets: 6, txErrors: 7, txDropped: 8 },
  ]);
  assert.deepEqual(parseNetDev('nothing\n'), []);
});

test('what this very process holds open', async () => {
  const { descriptors, sockets } = await openFilesOf([process.pid]);
  assert.ok(descriptors > 3 && sockets <= descriptors);
  assert.ok((await softFileLimit(process.pid)) !== undefined);
  assert.equal(await softFileLimit(2 ** 30), undefined);
  assert.deepEqual(await openFilesOf([2 ** 30]), { descriptors: 0, sockets: 0 });
});

test('devices by number and what they did', () => {
  const { names, counts } = parseDiskstats(' 254       0 vda 1 2 3 4 5 6 7 8 9 10 11 0 0 0 0 0 0\n   7       0 loop0 0 0\n');
  assert.equal(names.get('254:0'), '/dev/vda');
  assert.deepEqual([counts.get('/dev/vda')?.sectorsWritten, counts.get('/dev/vda')?.weightedIoTime], [7, 11]);
  assert.equal(counts.size, 1);
});

test('the machine’s own file systems, each once', () => {
  const line = (mountPoint: string, fsType: string, source: string) => `1 0 8:1 / ${mountPoint} rw - ${fsType} ${source} rw\n`;
  const mounts = parseMountInfo(
    line('/', 'ext4', '/dev/sda1') +
      line('/again', 'ext4', '/dev/sda1') +
      line('/run', 'tmpfs', 'tmpfs') +
      line('/proc', 'proc', 'proc') +
      line('/var/lib/kubelet/pods/u/volumes/x', 'tmpfs', 'tmpfs'),
  );
  assert.deepEqual(localFilesystems(mounts, ['/var/lib/kubelet/pods']), [
    { device: '/dev/sda1', mountPoint: '/' },
    { device: '/run', mountPoint: '/run' },
  ]);
});
