import { statfsSync } from 'node:fs';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { loadProtocol, serviceOf } from '../../../src/proto/load.ts';
import { GrpcFailure, type Message, PluginServer } from '../pluginServer.ts';
import { Backing, bind, unbind } from './backing.ts';

/** What the driver does wrong in one of its calls. */
export type Fault =
  /** Takes the call and says nothing. */
  | { kind: 'never' }
  /** Does its work, then answers when `until` resolves. */
  | { kind: 'late'; until: Promise<void> }
  /** Begins its work when `until` resolves, whoever still waits for it. */
  | { kind: 'slow'; until: Promise<void> }
  /** Two answers to one call. */
  | { kind: 'twice' }
  /** An answer that is no message. */
  | { kind: 'garbage' }
  /** Says that it is done, and does nothing. */
  | { kind: 'lie' }
  /** Fails without doing anything. */
  | { kind: 'error'; code: number; text?: string }
  /** Does its work, then fails. */
  | { kind: 'error-after'; code: number; text?: string };

/** NodeServiceCapability.RPC.Type. */
export const Capability = {
  STAGE_UNSTAGE_VOLUME: 1,
  GET_VOLUME_STATS: 2,
  EXPAND_VOLUME: 3,
  SINGLE_NODE_MULTI_WRITER: 5,
  VOLUME_MOUNT_GROUP: 6,
} as const;

export interface CsiDriverOptions {
  name: string;
  /** The agent's {root}. */
  rootDir: string;
  /** Where its volumes are kept; outside {root}. */
  dataDir: string;
  nodeId?: string;
  maxVolumes?: number;
  topology?: Record<string, string>;
  capabilities?: readonly number[];
  versions?: readonly string[];
  type?: string;
}

export interface DriverCall {
  name: string;
  request: Message;
}

const csi = loadProtocol('csi/v1/csi');
const registration = loadProtocol('pluginregistration/v1/api');

/** A small CSI driver with its registrar, in the process of the test: directories and loop devices of this machine. */
export class CsiDriver implements AsyncDisposable {
  readonly name: string;
  readonly backing: Backing;
  /** In the order in which they came. */
  readonly calls: DriverCall[] = [];
  readonly #told: string[] = [];
  #heard = Promise.withResolvers<void>();
  readonly faults = new Map<string, Fault>();
  capabilities: readonly number[];
  maxVolumes: number;
  readonly #options: CsiDriverOptions;
  readonly #service: PluginServer;
  readonly #registrar: PluginServer;

  constructor(options: CsiDriverOptions) {
    const { name, rootDir } = options;
    this.name = name;
    this.#options = options;
    this.backing = new Backing(options.dataDir);
    this.maxVolumes = options.maxVolumes ?? 0;
    this.capabilities = options.capabilities ?? [1, 2, 3];
    const endpoint = join(rootDir, 'plugins', name, 'csi.sock');
    const services = [serviceOf(csi, 'csi.v1.Node'), serviceOf(csi, 'csi.v1.Identity')];
    this.#service = new PluginServer(endpoint, services, (call, request, reply) => this.#handle(call, request, reply));
    const socket = join(rootDir, 'plugins_registry', `${name}-reg.sock`);
    this.#registrar = new PluginServer(socket, [serviceOf(registration, 'pluginregistration.Registration')], (call, request, reply) =>
      this.#handle(call, request, reply),
    );
  }

  get endpoint(): string {
    return this.#service.path;
  }

  get registrationSocket(): string {
    return this.#registrar.path;
  }

  async start(): Promise<void> {
    await this.#service.listen();
    await this.#registrar.listen();
  }

  /** Both sockets go, as when its pod is deleted. Mounts stay. */
  stop(): void {
    this.#registrar.close();
    this.#service.close();
  }

  /** The service only: it crashed, its registrar has not. */
  crash(): void {
    this.#service.close();
  }

  async revive(): Promise<void> {
    await this.#service.listen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
  }

  /** The next that the agent tells it of its registration: '' is success. */
  async told(): Promise<string> {
    for (;;) {
      const text = this.#told.shift();
      if (text !== undefined) return text;
      this.#heard = Promise.withResolvers<void>();
      await this.#heard.promise;
    }
  }

  /** The requests of one kind. */
  requests(name: string): Message[] {
    return this.calls.filter((c) => c.name === name).map((c) => c.request);
  }

  async #handle(name: string, request: Message, reply: (answer: Message | Buffer) => void): Promise<void> {
    this.calls.push({ name, request });
    const fault = this.faults.get(name);
    const fail = (f: { code: number; text?: string }) => {
      throw new GrpcFailure(f.code, f.text ?? `injected into ${name}`);
    };
    if (fault?.kind === 'never') return new Promise(() => undefined);
    if (fault?.kind === 'error') fail(fault);
    if (fault?.kind === 'slow') await fault.until;
    const answer = fault?.kind === 'lie' ? {} : this.#work(name, request);
    if (fault?.kind === 'late') await fault.until;
    if (fault?.kind === 'error-after') fail(fault);
    reply(fault?.kind === 'garbage' ? Buffer.from('ffffffffff', 'hex') : answer);
    if (fault?.kind === 'twice') reply(answer);
  }

  #work(name: string, request: Message): Message {
    const { nodeId = 'node-of-the-driver', topology, versions = ['1.0.0'], type = 'CSIPlugin' } = this.#options;
    const text = (key: string) => String(request[key] ?? '');
    switch (name) {
      case 'GetInfo':
        return { type, name: this.name, endpoint: this.endpoint, supportedVersions: versions };
      case 'NotifyRegistrationStatus':
        this.#told.push(request['pluginRegistered'] === true ? '' : text('error'));
        this.#heard.resolve();
        return {};
      case 'GetPluginInfo':
        return { name: this.name, vendorVersion: '1' };
      case 'Probe':
        return { ready: { value: true } };
      case 'NodeGetInfo':
        return { nodeId, maxVolumesPerNode: this.maxVolumes, ...(topology ? { accessibleTopology: { segments: topology } } : {}) };
      case 'NodeGetCapabilities':
        return { capabilities: this.capabilities.map((rpc) => ({ rpc: { type: rpc } })) };
      case 'NodeStageVolume':
        this.#stage(text('volumeId'), text('stagingTargetPath'), isBlock(request));
        return {};
      case 'NodePublishVolume':
        this.#publish(text('volumeId'), text('stagingTargetPath'), text('targetPath'), request);
        return {};
      case 'NodeUnpublishVolume':
        unbind(text('targetPath'));
        return {};
      case 'NodeUnstageVolume':
        unbind(text('stagingTargetPath'));
        this.backing.detach(text('volumeId'));
        return {};
      case 'NodeGetVolumeStats':
        return { usage: usageOf(text('volumePath')) };
      case 'NodeExpandVolume':
        return { capacityBytes: this.#expand(text('volumeId'), request) };
      default:
        throw new GrpcFailure(status.UNIMPLEMENTED, `unknown method ${name}`);
    }
  }

  #stage(volume: string, path: string, block: boolean): void {
    if (block) this.backing.attach(volume);
    else bind(this.backing.directory(volume), path, false);
  }

  #publish(volume: string, staging: string, target: string, request: Message): void {
    const readOnly = request['readonly'] === true;
    if (isBlock(request)) bind(this.backing.attach(volume), target, readOnly);
    else bind(staging === '' ? this.backing.directory(volume) : staging, target, readOnly);
  }

  #expand(volume: string, request: Message): number {
    const range = request['capacityRange'] as { requiredBytes: { low: number; high: number } };
    const bytes = range.requiredBytes.high * 2 ** 32 + (range.requiredBytes.low >>> 0);
    if (isBlock(request)) this.backing.grow(volume, bytes);
    return bytes;
  }
}

function isBlock(request: Message): boolean {
  const capability = request['volumeCapability'] as { block: object | null } | null;
  return capability?.block !== null && capability?.block !== undefined;
}

function usageOf(path: string): Message[] {
  const fs = statfsSync(path);
  return [
    { unit: 1, available: fs.bavail * fs.bsize, total: fs.blocks * fs.bsize, used: (fs.blocks - fs.bfree) * fs.bsize },
    { unit: 2, available: fs.ffree, total: fs.files, used: fs.files - fs.ffree },
  ];
}
