import type { Clock } from '../../host/clock.ts';
import { VolumeError } from '../volume-error.ts';
import { type CsiMetrics, CsiNodeClient, CsiTimeoutMs } from './node-client.ts';
import { compareVersions, highestVersion } from './versions.ts';

interface Driver {
  endpoint: string;
  version: string;
}

/** Gives a client of a driver, for one operation. */
export interface CsiClients {
  /** Throws VolumeError (`not-registered`) when no such driver is registered now: it may come. `timeoutMs`: of each call. */
  open(driver: string, timeoutMs?: number): CsiNodeClient;
}

/** The CSI drivers that are registered on this node. */
export class CsiDrivers implements CsiClients {
  readonly #drivers = new Map<string, Driver>();
  readonly #clock: Clock;
  readonly #metrics: CsiMetrics;
  readonly #timeoutMs: number;

  /** `timeoutMs`: of each call to a driver, unless its caller wants another. */
  constructor(clock: Clock, metrics: CsiMetrics, timeoutMs: number = CsiTimeoutMs) {
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#metrics = metrics;
  }

  /**
   * The version that a driver would be spoken to in. Throws when it speaks none that is known (0.x and 2.x on are not), or
   * when another of its name is registered that is as new. Texts: the real kubelet's.
   */
  check(caller: string, name: string, versions: readonly string[]): string {
    const failed = `kubernetes.io/csi: ${caller} for CSI driver ${JSON.stringify(name)} failed.`;
    if (versions.length === 0) throw new Error(`${failed} Plugin returned an empty list for supported versions`);
    const version = highestVersion(versions);
    if (version === undefined) throw new Error(`${failed} None of the versions specified [${versions.join(' ')}] are supported`);
    const known = this.#drivers.get(name);
    if (known !== undefined && compareVersions(known.version, version) >= 0) {
      throw new Error(
        `${failed} Another driver with the same name is already registered with a higher supported version: ${JSON.stringify(known.version)}`,
      );
    }
    return version;
  }

  add(name: string, driver: Driver): void {
    this.#drivers.set(name, driver);
  }

  /** Only when it is still the one of this endpoint. */
  remove(name: string, endpoint: string): void {
    if (this.#drivers.get(name)?.endpoint === endpoint) this.#drivers.delete(name);
  }

  /** Of those that are registered. */
  names(): string[] {
    return [...this.#drivers.keys()];
  }

  has(name: string): boolean {
    return this.#drivers.has(name);
  }

  open(name: string, timeoutMs: number = this.#timeoutMs): CsiNodeClient {
    const driver = this.#drivers.get(name);
    if (driver === undefined) {
      throw new VolumeError('not-registered', `driver name ${name} not found in the list of registered CSI drivers`);
    }
    return new CsiNodeClient(name, driver.endpoint, timeoutMs, this.#clock, this.#metrics);
  }
}
