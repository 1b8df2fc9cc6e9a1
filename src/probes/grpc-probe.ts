import { isIPv4, isIPv6 } from 'node:net';
import { Client, connectivityState, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { MethodDefinition } from '@grpc/proto-loader';
import { enumNames, loadProtocol, serviceOf } from '../proto/load.ts';
import type { ProbeOutcome } from './outcome.ts';
import { joinHostPort } from './port.ts';
import type { Schedule } from './schedule.ts';

type Check = MethodDefinition<{ service: string }, { status: number }>;

interface HealthProtocol {
  check: Check;
  names: ReadonlyMap<number, string>;
}

let protocol: HealthProtocol | undefined;

const clientOptions = {
  'grpc.primary_user_agent': 'kube-probe/1.37',
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_channelz': 0,
  'grpc.max_receive_message_length': 64 * 1024,
};

/** Asks the gRPC health service, on a connection of its own without TLS. Whatever goes wrong is a failure; rejects on an abort only. */
export async function grpcProbe(
  schedule: Schedule,
  host: string,
  port: number,
  service: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { check, names } = health();
  const address = joinHostPort(host, port);
  const scheme = isIPv4(host) ? 'ipv4:' : isIPv6(host) ? 'ipv6:' : 'dns:';
  const client = new Client(`${scheme}${address}`, credentials.createInsecure(), clientOptions);
  // A server that is about to listen is waited for, as long as there is time.
  const metadata = new Metadata({ waitForReady: true });
  let isTimeout = false;
  let wasConnected = false;
  let timeout: { cancel(): void } | undefined;
  let onAbort: (() => void) | undefined;
  try {
    const answer = await new Promise<{ status: number }>((resolve, reject) => {
      const done = (err: ServiceError | null, value?: { status: number }) =>
        err === null && value ? resolve(value) : reject(err as Error);
      const call = client.makeUnaryRequest(check.path, check.requestSerialize, check.responseDeserialize, { service }, metadata, done);
      timeout = schedule.after(timeoutMs, () => {
        isTimeout = true;
        wasConnected = client.getChannel().getConnectivityState(false) === connectivityState.READY;
        call.cancel();
      });
      onAbort = () => call.cancel();
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
    if (names.get(answer.status) === 'SERVING') return { result: 'success', output: 'service healthy' };
    const name = names.get(answer.status) ?? String(answer.status);
    return { result: 'failure', output: `service unhealthy (responded with "${name}")` };
  } catch (err) {
    signal.throwIfAborted();
    const seconds = `${timeoutMs / 1000}s`;
    if (isTimeout && wasConnected) return failure(`timeout: health rpc did not complete within ${seconds}`);
    if (isTimeout) return failure(`timeout: failed to connect service "${address}" within ${seconds}: context deadline exceeded`);
    const { code, details } = err as ServiceError;
    if (code === status.UNIMPLEMENTED) {
      return failure(`error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`);
    }
    return failure(`error: health rpc probe failed: rpc error: code = ${statusName(code)} desc = ${details}`);
  } finally {
    timeout?.cancel();
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
    client.close();
  }
}

function health(): HealthProtocol {
  if (protocol === undefined) {
    const definition = loadProtocol('grpc/health/v1/health');
    const check = serviceOf(definition, 'grpc.health.v1.Health')['Check'];
    if (check === undefined) throw new Error('the health protocol has no Check');
    protocol = { check: check as Check, names: enumNames(definition, 'grpc.health.v1.ServingStatus') };
  }
  return protocol;
}

const failure = (output: string): ProbeOutcome => ({ result: 'failure', output });

/** `NOT_FOUND` as `NotFound`. */
function statusName(code: number): string {
  const words = (status[code] ?? 'UNKNOWN').split('_');
  return words.map((w) => w.charAt(0) + w.slice(1).toLowerCase()).join('');
}
