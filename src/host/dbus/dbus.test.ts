import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { DBusConnection, DBusError } from './connection.ts';
import { type DBusValue, Marshaller, Unmarshaller } from './marshal.ts';
import { decodeMessage, encodeCall } from './message.ts';
import { splitSignature } from './signature.ts';

const roundTrip = (type: string, value: DBusValue) => {
  const writer = new Marshaller();
  writer.write(type, value);
  const reader = new Unmarshaller(writer.bytes(), true);
  const read = reader.read(type);
  assert.equal(reader.at, writer.length, 'every byte was read');
  return read;
};

describe('D-Bus signatures', () => {
  it('fall into complete types', () => {
    assert.deepEqual(splitSignature('ssa(sv)a(sa(sv))'), ['s', 's', 'a(sv)', 'a(sa(sv))']);
    assert.deepEqual(splitSignature('a{sv}aai'), ['a{sv}', 'aai']);
    assert.throws(() => splitSignature('a'), /ends too early/);
    assert.throws(() => splitSignature('(s'), /ends too early/);
    assert.throws(() => splitSignature('z'), /not known/);
  });
});

describe('D-Bus values', () => {
  it('come back as they were written', () => {
    const text = fc.string().filter((s) => !s.includes('\0'));
    const property = fc.tuple(
      text,
      fc.oneof(
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => ({ signature: 't', value })),
        fc.boolean().map((value) => ({ signature: 'b', value })),
        fc.array(text).map((value) => ({ signature: 'as', value })),
      ),
    );
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.array(property), (name, id, properties) => {
        assert.deepEqual(roundTrip('(sua(sv))', [name, id, properties]), [name, id, properties]);
      }),
    );
  });

  it('keep signs, doubles and bytes', () => {
    assert.equal(roundTrip('i', -5), -5);
    assert.equal(roundTrip('x', -(2n ** 40n)), -(2n ** 40n));
    assert.equal(roundTrip('d', 0.25), 0.25);
    assert.deepEqual(roundTrip('ay', Buffer.from([1, 2, 255])), Buffer.from([1, 2, 255]));
  });

  it('refuse a value of another type, naming the type', () => {
    assert.throws(() => new Marshaller().write('u', 'five'), /string is not of the D-Bus type u/);
    assert.throws(() => new Marshaller().write('(ss)', ['one']), /D-Bus type \(ss\)/);
    assert.throws(() => new Marshaller().write('s', 'a\0b'), /NUL/);
  });

  it('do not read behind the end of a message', () => {
    assert.throws(() => new Unmarshaller(Buffer.from([255, 0, 0, 0, 65]), true).read('s'), RangeError);
  });
});

describe('D-Bus messages', () => {
  it('wait for their last byte, and refuse what is no D-Bus', () => {
    const call = encodeCall(7, { destination: 'd.e', path: '/p', interface: 'i.f', member: 'M', signature: 'su', body: ['x', 1] });
    assert.equal(call.length % 4, 0);
    assert.equal(decodeMessage(call.subarray(0, call.length - 1)), undefined);
    const decoded = decodeMessage(Buffer.concat([call, Buffer.from('rest')]));
    assert.equal(decoded?.size, call.length);
    assert.deepEqual(decoded?.message.body, ['x', 1]);
    assert.equal(decoded?.message.member, 'M');
    assert.throws(() => decodeMessage(Buffer.from('HTTP/1.1 400 Bad Request\r\n')), /does not speak D-Bus/);
  });
});

/** A reply or a signal, as a peer would send it. */
function peerMessage(
  type: number,
  fields: [number, { signature: string; value: DBusValue }][],
  signature: string,
  body: DBusValue[],
): Buffer {
  const content = new Marshaller();
  if (signature !== '') content.write(`(${signature})`, body);
  const header = new Marshaller();
  for (const byte of [108, type, 0, 1]) header.write('y', byte);
  header.write('u', content.length);
  header.write('u', 1);
  header.write('a(yv)', signature === '' ? fields : [...fields, [8, { signature: 'g', value: signature }]]);
  header.align(8);
  return Buffer.concat([header.bytes(), content.bytes()]);
}

describe('DBusConnection', () => {
  let folder: string;
  let path: string;
  let server: Server;
  const sockets = new Set<Socket>();
  let answer: (socket: Socket, member: string) => void;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dbus-'));
    path = join(folder, 'bus');
    server = createServer((socket) => {
      sockets.add(socket);
      let begun = false;
      socket.on('data', (chunk) => {
        let rest: Buffer = chunk;
        if (!begun) {
          if (rest.includes('AUTH EXTERNAL')) socket.write('OK 0123\r\n');
          const begin = rest.indexOf('BEGIN\r\n');
          if (begin < 0) return;
          begun = true;
          // The first call may be in the same piece.
          rest = rest.subarray(begin + 'BEGIN\r\n'.length);
        }
        for (let next = decodeMessage(rest); next !== undefined; next = decodeMessage(rest)) {
          rest = rest.subarray(next.size);
          answer(socket, next.message.member ?? '');
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });
  const call = (connection: DBusConnection, member: string) =>
    connection.call({ destination: 'd.e', path: '/', interface: 'i.f', member, signature: '', body: [] });
  const replyTo = (serial: number): [number, { signature: string; value: DBusValue }] => [5, { signature: 'u', value: serial }];

  it('matches answers that come in pieces and out of order, and tells signals', async () => {
    let calls = 0;
    const signals: string[] = [];
    answer = (socket) => {
      if (++calls < 2) return;
      const signal = peerMessage(4, [[3, { signature: 's', value: 'Ring' }]], 's', ['bell']);
      const both = Buffer.concat([peerMessage(2, [replyTo(2)], 's', ['two']), signal, peerMessage(2, [replyTo(1)], 's', ['one'])]);
      socket.write(both.subarray(0, 21));
      setImmediate(() => socket.write(both.subarray(21)));
    };
    const connection = await DBusConnection.connect(path, new AbortController().signal);
    connection.onSignal(({ member, body }) => signals.push(`${member} ${body.join()}`));
    const one = call(connection, 'One');
    await new Promise((resolve) => setImmediate(resolve));
    const two = call(connection, 'Two');
    assert.deepEqual(await Promise.all([one, two]), [['one'], ['two']]);
    assert.deepEqual(signals, ['Ring bell']);
    connection.close();
  });

  it('rejects with the name that the peer gives a fault, and with Disconnected once it is gone', async () => {
    answer = (socket, member) => {
      if (member === 'Die') socket.destroy();
      else socket.write(peerMessage(3, [replyTo(1), [4, { signature: 's', value: 'a.b.NoSuchUnit' }]], 's', ['not loaded']));
    };
    const connection = await DBusConnection.connect(path, new AbortController().signal);
    await assert.rejects(call(connection, 'Ask'), { code: 'Remote', remoteName: 'a.b.NoSuchUnit' });
    await assert.rejects(call(connection, 'Die'), { code: 'Disconnected' });
    assert.equal(connection.isOpen, false);
    await assert.rejects(call(connection, 'Ask'), DBusError);
  });

  it('ends when the peer sends something else', async () => {
    answer = (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n');
    const connection = await DBusConnection.connect(path, new AbortController().signal);
    await assert.rejects(call(connection, 'Ask'), { code: 'Protocol' });
  });

  it('says so when nobody listens', async () => {
    await assert.rejects(DBusConnection.connect(join(folder, 'nobody'), new AbortController().signal), { code: 'Disconnected' });
  });
});
