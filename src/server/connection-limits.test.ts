import assert from 'node:assert/strict';
import test from 'node:test';
import { ConnectionLimits } from './connection-limits.ts';

class Peer {
  readonly remoteAddress: string;
  readonly remotePort: number;
  close = () => {};
  constructor(remoteAddress: string, remotePort: number) {
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }
  once(_event: 'close', fn: () => void): void {
    this.close = fn;
  }
}

test('strangers are limited per address and in all; those that are known are not, up to the total', () => {
  const limits = new ConnectionLimits({ strangersPerAddress: 2, strangers: 3, total: 5 });
  const one = [1, 2, 3].map((port) => new Peer('10.0.0.1', port));
  assert.deepEqual(
    one.map((p) => limits.admit(p)),
    [true, true, false],
  );
  assert.equal(limits.admit(new Peer('10.0.0.2', 1)), true);
  assert.equal(limits.admit(new Peer('10.0.0.3', 1)), false, 'three strangers are enough');
  for (const peer of one) limits.known(peer);
  assert.equal(limits.strangers, 1);
  assert.equal(limits.admit(new Peer('10.0.0.1', 4)), true);
  assert.equal(limits.admit(new Peer('10.0.0.1', 5)), true);
  assert.equal(limits.admit(new Peer('10.0.0.9', 1)), false, 'five in all');
  one[0]?.close();
  assert.equal(limits.total, 4);
  assert.equal(limits.admit(new Peer('10.0.0.1', 6)), false, 'two strangers of this address again');
});
