import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { KubeApi } from '../../kube/api.ts';
import { unlessNotFound } from '../../kube/errors.ts';
import { csiDriverTarget, getSecret, getVolumeAttachment } from '../../kube/typed.ts';
import type { CSIDriver, VolumeAttachment } from '../../kube/types.ts';
import { WatchOnDemand } from '../../kube/watch-on-demand.ts';
import type { Logger } from '../../observe/log.ts';
import type { StringMap } from './node-client.ts';
import type { SecretRef } from './source.ts';

/** How long whoever needs a CSIDriver waits for the first list. */
const SyncWaitMs = 5_000;
const RequestMs = 30_000;

/** The CSIDriver's spec: what the cluster says of a driver. */
export type DriverSpec = CSIDriver['spec'];

/** Objects of the API server that CSI volumes need. All reject when what they ask for cannot be known. */
export interface CsiObjects {
  /** Undefined: there is no such CSIDriver. */
  driver(name: string): Promise<DriverSpec | undefined>;
  /** As `driver`, of what is known already. */
  knownDriver(name: string): DriverSpec | undefined;
  /** Undefined: there is none of that name. */
  attachment(name: string): Promise<VolumeAttachment | undefined>;
  /** A missing one is an error. */
  secret(ref: SecretRef): Promise<StringMap>;
}

export interface ApiCsiObjectsDeps {
  api: KubeApi;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** Asks the API server; CSIDrivers are watched from the first question on. */
export class ApiCsiObjects implements CsiObjects {
  readonly #api: KubeApi;
  readonly #drivers: WatchOnDemand<CSIDriver>;

  constructor(deps: ApiCsiObjectsDeps) {
    this.#api = deps.api;
    this.#drivers = new WatchOnDemand<CSIDriver>({ ...csiDriverTarget, ...deps });
  }

  async driver(name: string): Promise<DriverSpec | undefined> {
    return (await this.#drivers.objects(SyncWaitMs, 'CSIDrivers are not known yet')).get(name)?.spec;
  }

  knownDriver(name: string): DriverSpec | undefined {
    return this.#drivers.known?.get(name)?.spec;
  }

  attachment(name: string): Promise<VolumeAttachment | undefined> {
    return unlessNotFound(getVolumeAttachment(this.#api, name, { timeoutMs: RequestMs }));
  }

  async secret({ namespace, name }: SecretRef): Promise<StringMap> {
    const { data = {} } = await getSecret(this.#api, namespace, name, { timeoutMs: RequestMs });
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
  }

  stop(): Promise<void> {
    return this.#drivers.stop();
  }
}
