import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcp, type Socket } from 'node:net';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { loadProtocol, serviceOf } from '../../src/proto/load.ts';

/** Something that probes ask. */
export interface ProbeServer {
  port: number;
  close(): Promise<void>;
}

type Reply = (req: IncomingMessage, res: ServerResponse) => void;

/** An HTTP server on loopback. */
export async function httpServer(reply: Reply): Promise<ProbeServer> {
  const server = createHttp(reply).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/** A TCP server on loopback. */
export async function tcpServer(talk: (socket: Socket) => void): Promise<ProbeServer> {
  const sockets = new Set<Socket>();
  const server = createTcp((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    talk(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/** A port of loopback that nobody listens on. */
export async function closedPort(): Promise<number> {
  const server = await tcpServer(() => undefined);
  await server.close();
  return server.port;
}

/** The health service of gRPC on all addresses; `status` gives the number that a service answers. */
export async function grpcHealthServer(status: (service: string) => number): Promise<ProbeServer> {
  const server = new GrpcServer();
  const service = serviceOf(loadProtocol('grpc/health/v1/health'), 'grpc.health.v1.Health');
  server.addService(service, {
    Check: (call: { request: { service: string } }, done: (err: null, value: { status: number }) => void) =>
      done(null, { status: status(call.request.service) }),
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('0.0.0.0:0', ServerCredentials.createInsecure(), (err, bound) => (err === null ? resolve(bound) : reject(err)));
  });
  return { port, close: async () => server.forceShutdown() };
}

/** A port where connections are neither taken nor refused: its process is stopped and its queue is full. */
export async function fullListener(): Promise<ProbeServer> {
  const code =
    "require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () { console.log(this.address().port); });";
  const child = spawn(process.execPath, ['--eval', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line);
  child.kill('SIGSTOP');
  const sockets = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  await once(sockets[0] ?? child, 'connect');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { port, close };
}
