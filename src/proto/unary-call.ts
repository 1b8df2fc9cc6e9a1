import { type ChannelOptions, type Client, Metadata } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';

/** Of a connection to a socket of this machine. The authority must be `localhost`: servers refuse a socket's path as a host name. */
export const localChannel: ChannelOptions = {
  'grpc.default_authority': 'localhost',
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_channelz': 0,
  'grpc.initial_reconnect_backoff_ms': 100,
};

export interface UnaryOptions {
  /** Wall-clock milliseconds at which the call is given up. */
  deadline?: number;
  /** Cancels the call. */
  signal?: AbortSignal | undefined;
}

const noMetadata = new Metadata();

/** One request, one answer. Rejects with what the library fails with. */
export function unaryCall<Response>(
  client: Client,
  method: MethodDefinition<object, object>,
  request: object,
  { deadline, signal }: UnaryOptions,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const onAbort = () => sent.cancel();
    const done = (err: Error | null, response?: object) => {
      signal?.removeEventListener('abort', onAbort);
      if (err === null) resolve(response as Response);
      else reject(err);
    };
    const options = deadline === undefined ? {} : { deadline };
    // Only a closed client or a programming error throws here.
    const sent = client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      noMetadata,
      options,
      done,
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
