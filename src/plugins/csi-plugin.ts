import type { Logger } from '../observe/log.ts';
import type { CsiDrivers } from '../volumes/csi/drivers.ts';
import type { CsiNodePublisher } from '../volumes/csi/node-publisher.ts';
import type { PluginHandler, PluginInfo } from './plugin-handler.ts';

export interface CsiPluginDeps {
  drivers: CsiDrivers;
  publisher: Pick<CsiNodePublisher, 'install' | 'uninstall'>;
  log: Logger;
  /** A driver came or went. */
  changed(driver: string): void;
}

/** Takes CSI drivers in: asks them for their node, and tells the cluster. */
export class CsiPlugin implements PluginHandler {
  readonly #deps: CsiPluginDeps;

  constructor(deps: CsiPluginDeps) {
    this.#deps = deps;
  }

  validate({ name, endpoint, versions }: PluginInfo): void {
    try {
      this.#deps.drivers.check('ValidatePlugin', name, versions);
    } catch (err) {
      throw new Error(`validation failed for CSI Driver ${name} at endpoint ${endpoint}: ${textOf(err)}`, { cause: err });
    }
  }

  async register({ name, endpoint, versions }: PluginInfo, signal: AbortSignal): Promise<void> {
    const { drivers, publisher, changed } = this.#deps;
    drivers.add(name, { endpoint, version: drivers.check('RegisterPlugin', name, versions) });
    try {
      using client = drivers.open(name);
      await publisher.install(name, await client.getInfo(signal), signal);
    } catch (err) {
      await this.#remove(name, endpoint);
      throw err;
    }
    changed(name);
  }

  async deregister({ name, endpoint }: PluginInfo): Promise<void> {
    await this.#remove(name, endpoint);
    this.#deps.changed(name);
  }

  async #remove(name: string, endpoint: string): Promise<void> {
    const { drivers, publisher, log } = this.#deps;
    drivers.remove(name, endpoint);
    try {
      await publisher.uninstall(name);
    } catch (err) {
      log.error(err, 'Failed to take the CSI driver out of the cluster', { driver: name });
    }
  }
}

function textOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
