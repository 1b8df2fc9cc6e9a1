/**
 * An attacker in a process of its own: `node flooder.ts MODE PORT COUNT`. Says `ready` when all its connections are made or
 * refused, then `settled` when no more of them are closed, and holds them until its input ends.
 */
import { connect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';

const [mode = '', port = '', count = ''] = process.argv.slice(2);
const open = new Set<Socket>();
const wait = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Resolves once the connection is made or refused. */
function one(index: number): Promise<void> {
  const plain = mode === 'idle' || mode === 'hello';
  // From another address than everybody else's: limits are by address.
  const target = { host: '127.0.0.1', port: Number(port), localAddress: '127.0.0.2' };
  return new Promise((done) => {
    const socket = plain ? connect(target) : tlsConnect({ ...target, rejectUnauthorized: false });
    open.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      open.delete(socket);
      done();
    });
    socket.once(plain ? 'connect' : 'secureConnect', () => {
      if (mode === 'hello') socket.write(Buffer.from([0x16, 3, 1, 1, 0]));
      if (mode === 'slow-headers') socket.write(`GET /pods HTTP/1.1\r\nHost: x\r\nA-${index}: `);
      if (mode === 'half-upgrade') {
        socket.write('GET /exec/d/p/c?command=id&output=1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n');
      }
      if (mode === 'headers') socket.write(`GET / HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(300_000)}`);
      if (mode === 'body') {
        socket.write('PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
        const flood = () => {
          while (!socket.destroyed && socket.write(`10000\r\n${'x'.repeat(65_536)}\r\n`));
        };
        socket.on('drain', flood);
        flood();
      }
      setTimeout(done, 50);
    });
  });
}

const all: Promise<void>[] = [];
for (let i = 0; i < Number(count); i++) {
  all.push(one(i));
  // As fast as one process can, without stopping its own event loop.
  if (i % 200 === 199) await wait(5);
}
await Promise.race([Promise.all(all), wait(20_000)]);
process.stdout.write('ready\n');
// The other side closes what is too much as fast as it can: until no more are closed.
for (let last = -1; last !== open.size; ) {
  last = open.size;
  await wait(1_000);
}
process.stdout.write('settled\n');
process.stdin.resume();
process.stdin.once('end', () => process.exit(0));
