import type { Clock } from '../../host/clock.ts';
import type { Random } from '../../host/random.ts';
import type { KubeApi } from '../../kube/api.ts';
import { isKubeError } from '../../kube/errors.ts';
import { Reflector } from '../../kube/reflector.ts';
import { csiDriverTarget, getSecret, getVolumeAttachment } from '../../kube/typed.ts';
import type { CSIDriver, VolumeAttachment } from '../../kube/types.ts';
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
  /** A CSIDriver came, changed or went. */
  changed?(name: string): void;
}

/** Asks the API server; CSIDrivers are watched from the first question on. */
export class ApiCsiObjects implements CsiObjects {
  readonly #deps: ApiCsiObjectsDeps;
  readonly #stop = new AbortController();
  #reflector: Reflector<CSIDriver> | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: ApiCsiObjectsDeps) {
    this.#deps = deps;
  }

  async driver(name: string): Promise<DriverSpec | undefined> {
    const reflector = this.#watch();
    if (!reflector.synced) await this.#synced(reflector);
    return reflector.objects.get(name)?.spec;
  }

  knownDriver(name: string): DriverSpec | undefined {
    return this.#reflector?.objects.get(name)?.spec;
  }

  async attachment(name: string): Promise<VolumeAttachment | undefined> {
    try {
      return await getVolumeAttachment(this.#deps.api, name, { timeoutMs: RequestMs });
    } catch (err) {
      if (isKubeError(err, 'NotFound')) return undefined;
      throw err;
    }
  }

  async secret({ namespace, name }: SecretRef): Promise<StringMap> {
    const { data = {} } = await getSecret(this.#deps.api, namespace, name, { timeoutMs: RequestMs });
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #watch(): Reflector<CSIDriver> {
    if (this.#reflector === undefined) {
      const { api, clock, random, log, changed } = this.#deps;
      const onChange = ({ object }: { object: CSIDriver }) => changed?.(object.metadata.name);
      this.#reflector = new Reflector<CSIDriver>({ ...csiDriverTarget, api, clock, random, log, onChange });
      this.#running = this.#reflector.run(this.#stop.signal);
    }
    return this.#reflector;
  }

  async #synced(reflector: Reflector<CSIDriver>): Promise<void> {
    const { clock } = this.#deps;
    const over = new AbortController();
    const late = clock.sleep(SyncWaitMs, over.signal).then(
      () => true,
      () => false,
    );
    const isLate = await Promise.race([reflector.whenSynced().then(() => false), late]);
    over.abort();
    if (!isLate) return;
    const health = reflector.health();
    throw new Error(`CSIDrivers are not known yet${health.ok ? '' : `: ${health.reason}`}`);
  }
}
