/** A process that answers probes: HTTP on one port, TCP on another. Prints both, then each second how many it has answered. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

const answer = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';
let answered = 0;

function listen(talk: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    answered += 1;
    socket.on('error', () => undefined);
    talk(socket);
  });
  return new Promise((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => resolve(server)));
}

const http = await listen((socket) => void socket.once('data', () => socket.end(answer)));
const tcp = await listen((socket) => void socket.resume());
const port = (server: Server) => (server.address() as AddressInfo).port;
process.stdout.write(`${JSON.stringify({ http: port(http), tcp: port(tcp) })}\n`);
setInterval(() => process.stdout.write(`${answered}\n`), 1000);
process.on('disconnect', () => process.exit(0));
