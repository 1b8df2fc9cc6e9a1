import type { ServiceDefinition } from '@grpc/proto-loader';
import type { Clock } from '../../host/clock.ts';
import { type Int64, toNumber } from '../../proto/int64.ts';
import { loadProtocol, serviceOf } from '../../proto/load.ts';
import { isGrpcError, UnixClient } from '../../proto/unix-client.ts';
import { accessModeNumber, csiAccessMode } from './access-mode.ts';

/** Contract node.md §10: of each call. */
export const CsiTimeoutMs = 120_000;

export type NodeCapability =
  | 'STAGE_UNSTAGE_VOLUME'
  | 'GET_VOLUME_STATS'
  | 'EXPAND_VOLUME'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'VOLUME_MOUNT_GROUP';

/** NodeServiceCapability.RPC.Type by number. */
const capabilityNames: ReadonlyMap<number, NodeCapability> = new Map([
  [1, 'STAGE_UNSTAGE_VOLUME'],
  [2, 'GET_VOLUME_STATS'],
  [3, 'EXPAND_VOLUME'],
  [5, 'SINGLE_NODE_MULTI_WRITER'],
  [6, 'VOLUME_MOUNT_GROUP'],
]);

/** Maps go over the wire as they are. */
export type StringMap = Readonly<Record<string, string>>;

/** How a volume is wanted: mounted, or as a device. */
export type Access = 'block' | { fsType: string; mountFlags: readonly string[]; group?: number | undefined };

export interface VolumeAccess {
  access: Access;
  /** Kubernetes' access mode, e.g. `ReadWriteOnce`. */
  accessMode: string;
}

export interface StageRequest extends VolumeAccess {
  volumeId: string;
  publishContext: StringMap;
  stagingPath: string;
  secrets: StringMap;
  volumeContext: StringMap;
}

export interface PublishRequest extends Omit<StageRequest, 'stagingPath'> {
  /** Undefined where the driver does not stage. */
  stagingPath: string | undefined;
  targetPath: string;
  readOnly: boolean;
}

export interface ExpandRequest extends VolumeAccess {
  volumeId: string;
  volumePath: string;
  stagingPath: string | undefined;
  /** Bytes. */
  size: bigint;
  secrets: StringMap;
}

/** Bytes, or inodes. */
export interface Usage {
  available: number;
  total: number;
  used: number;
}

export interface NodeInfo {
  nodeId: string;
  /** 0: no limit is known. */
  maxVolumes: number;
  topology: StringMap;
}

/** Counts calls: csi_operations_seconds. */
export interface CsiMetrics {
  called(driver: string, method: string, code: string, seconds: number): void;
}

interface UsageAnswer {
  available: Int64;
  total: Int64;
  used: Int64;
  unit: number;
}

const BytesUnit = 1;
const InodesUnit = 2;
let service: ServiceDefinition | undefined;

/** One operation on a driver: a connection, and what the driver can do, asked once. Reject with GrpcError. */
export class CsiNodeClient implements Disposable {
  readonly #client: UnixClient;
  readonly #driver: string;
  readonly #timeoutMs: number;
  readonly #clock: Clock;
  readonly #metrics: CsiMetrics;
  #capabilities: Promise<ReadonlySet<NodeCapability>> | undefined;

  constructor(driver: string, endpoint: string, timeoutMs: number, clock: Clock, metrics: CsiMetrics) {
    service ??= serviceOf(loadProtocol('csi/v1/csi'), 'csi.v1.Node');
    this.#client = new UnixClient(endpoint, service);
    this.#driver = driver;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  [Symbol.dispose](): void {
    this.#client[Symbol.dispose]();
  }

  async getInfo(signal?: AbortSignal): Promise<NodeInfo> {
    const answer = await this.#call<{ nodeId: string; maxVolumesPerNode: Int64; accessibleTopology: { segments: StringMap } | null }>(
      'NodeGetInfo',
      {},
      signal,
    );
    return {
      nodeId: answer.nodeId,
      maxVolumes: toNumber(answer.maxVolumesPerNode),
      topology: answer.accessibleTopology?.segments ?? {},
    };
  }

  /** Asked of the driver once for this operation. */
  async supports(capability: NodeCapability): Promise<boolean> {
    this.#capabilities ??= this.#askCapabilities();
    return (await this.#capabilities).has(capability);
  }

  async stage({ volumeId, publishContext, stagingPath, secrets, volumeContext, ...access }: StageRequest): Promise<void> {
    await this.#call('NodeStageVolume', {
      volumeId,
      publishContext,
      stagingTargetPath: stagingPath,
      volumeCapability: await this.#capability(access),
      secrets,
      volumeContext,
    });
  }

  async publish(request: PublishRequest): Promise<void> {
    const { volumeId, publishContext, stagingPath, targetPath, readOnly, secrets, volumeContext, ...access } = request;
    await this.#call('NodePublishVolume', {
      volumeId,
      publishContext,
      stagingTargetPath: stagingPath ?? '',
      targetPath,
      volumeCapability: await this.#capability(access),
      readonly: readOnly,
      secrets,
      volumeContext,
    });
  }

  async unpublish(volumeId: string, targetPath: string): Promise<void> {
    await this.#call('NodeUnpublishVolume', { volumeId, targetPath });
  }

  async unstage(volumeId: string, stagingPath: string): Promise<void> {
    await this.#call('NodeUnstageVolume', { volumeId, stagingTargetPath: stagingPath });
  }

  async expand({ volumeId, volumePath, stagingPath, size, secrets, ...access }: ExpandRequest): Promise<void> {
    await this.#call('NodeExpandVolume', {
      volumeId,
      volumePath,
      capacityRange: { requiredBytes: size.toString() },
      stagingTargetPath: stagingPath ?? '',
      volumeCapability: await this.#capability(access),
      secrets,
    });
  }

  /** What is used of a volume; absent what the driver does not tell. */
  async stats(volumeId: string, volumePath: string): Promise<{ bytes?: Usage; inodes?: Usage }> {
    const { usage } = await this.#call<{ usage: UsageAnswer[] }>('NodeGetVolumeStats', { volumeId, volumePath });
    const of = (unit: number): Usage | undefined => {
      const found = usage.findLast((u) => u.unit === unit);
      return found && { available: toNumber(found.available), total: toNumber(found.total), used: toNumber(found.used) };
    };
    const [bytes, inodes] = [of(BytesUnit), of(InodesUnit)];
    return { ...(bytes === undefined ? {} : { bytes }), ...(inodes === undefined ? {} : { inodes }) };
  }

  async #askCapabilities(): Promise<ReadonlySet<NodeCapability>> {
    const { capabilities } = await this.#call<{ capabilities: { rpc: { type: number } | null }[] }>('NodeGetCapabilities', {});
    // Of another kind, or newer than this agent: it is no business of it.
    return new Set(capabilities.map(({ rpc }) => capabilityNames.get(rpc?.type ?? 0)).filter((name) => name !== undefined));
  }

  async #capability({ access, accessMode }: VolumeAccess): Promise<object> {
    const mode = csiAccessMode(accessMode, await this.supports('SINGLE_NODE_MULTI_WRITER'));
    const type =
      access === 'block'
        ? { block: {} }
        : { mount: { fsType: access.fsType, mountFlags: access.mountFlags, volumeMountGroup: access.group?.toString() ?? '' } };
    return { ...type, accessMode: { mode: accessModeNumber(mode) } };
  }

  async #call<T>(name: string, request: object, signal?: AbortSignal): Promise<T> {
    const began = this.#clock.monotonic();
    const done = (code: string) =>
      this.#metrics.called(this.#driver, `/csi.v1.Node/${name}`, code, (this.#clock.monotonic() - began) / 1000);
    try {
      const answer = await this.#client.call<T>(name, request, { deadline: this.#clock.now() + this.#timeoutMs, signal });
      done('OK');
      return answer;
    } catch (err) {
      done(isGrpcError(err) ? err.code : 'unknown-non-grpc');
      throw err;
    }
  }
}
