import { type Int64, toBigInt } from '../proto/int64.ts';
import type { ServiceCaller } from './caller.ts';
import type * as t from './types.ts';

interface WireEvent {
  containerId: string;
  containerEventType: number;
  createdAt: Int64;
  podSandboxStatus: { metadata: { uid: string } | null } | null;
}

const types: readonly t.ContainerEventType[] = ['CREATED', 'STARTED', 'STOPPED', 'DELETED'];

/** The runtime's events as hints; an event of a type that the protocol does not name is skipped. */
export async function* containerEvents(rpc: ServiceCaller, signal: AbortSignal): AsyncGenerator<t.ContainerEvent, void, void> {
  for await (const wire of rpc.stream<WireEvent>('GetContainerEvents', {}, signal, 0)) {
    const type = types[wire.containerEventType];
    if (type === undefined) continue;
    yield { containerId: wire.containerId, type, createdAt: toBigInt(wire.createdAt), podUid: wire.podSandboxStatus?.metadata?.uid ?? '' };
  }
}
