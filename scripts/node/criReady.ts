import { Client, credentials, type ServiceError } from '@grpc/grpc-js';

const raw = (b: Buffer) => b;

/**
 * True when the runtime's CRI service answers Status and reports its network as ready. Asked without message types, so
 * that the tools need nothing of the agent: reasons such as `NetworkPluginNotReady` stand in the answer as plain text.
 */
export async function criReady(socket: string): Promise<boolean> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), { 'grpc.default_authority': 'localhost' });
  try {
    const answer = await new Promise<Buffer | undefined>((resolve) => {
      client.makeUnaryRequest(
        '/runtime.v1.RuntimeService/Status',
        raw,
        raw,
        Buffer.alloc(0),
        { deadline: Date.now() + 2_000 },
        (error: ServiceError | null, value?: Buffer) => resolve(error === null ? value : undefined),
      );
    });
    if (answer === undefined) return false;
    const text = answer.toString('latin1');
    return text.includes('NetworkReady') && !text.includes('NotReady');
  } finally {
    client.close();
  }
}
