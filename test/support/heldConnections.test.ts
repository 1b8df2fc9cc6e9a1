import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import test from 'node:test';
import { heldConnections, heldIn } from './heldConnections.ts';

const row = (local: string, remote: string, state: string, inode: string) =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000     0        0 ${inode} 1 0 20 4 30 10 -1`;

test('connections that are held: of that port and address, established, accepted', () => {
  const table = [
    row('0100007F:1F90', '0200007F:8001', '01', '501'),
    row('0000000000000000FFFF00000100007F:1F90', '0000000000000000FFFF00000200007F:8002', '01', '502'),
    row('0100007F:1F90', '0200007F:8003', '01', '0'),
    row('0100007F:1F90', '0200007F:8004', '06', '0'),
    row('0100007F:1F90', '0100007F:8005', '01', '503'),
    row('0100007F:1F91', '0200007F:8006', '01', '504'),
    row('0200007F:8001', '0100007F:1F90', '01', '505'),
  ].join('\n');
  assert.equal(heldIn(table, 8080, '127.0.0.2'), 2);
});

test('connections that are held: those of a real server, until it closes them', {
  skip: process.platform !== 'linux' && 'needs Linux',
}, async () => {
  const taken: Socket[] = [];
  const server = createServer((socket) => void taken.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = [1, 2, 3].map(() => connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }));
  await Promise.all(clients.map((client) => once(client, 'connect')));
  while (taken.length < 3) await once(server, 'connection');
  assert.equal(await heldConnections(port, '127.0.0.2'), 3);
  assert.equal(await heldConnections(port, '127.0.0.1'), 0);
  const closed = clients.map((client) => once(client.resume(), 'close'));
  for (const socket of taken) socket.destroy();
  await Promise.all(closed);
  assert.equal(await heldConnections(port, '127.0.0.2'), 0);
  server.close();
});
