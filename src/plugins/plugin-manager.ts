import type { Clock } from '../host/clock.ts';
import type { FoundSockets } from '../host/find-sockets.ts';
import { Pause } from '../host/pause.ts';
import type { Logger } from '../observe/log.ts';
import type { Health, Service } from '../observe/service.ts';
import type { PluginHandler, PluginType } from './plugin-handler.ts';
import { type RegisteredPlugin, registerPlugin } from './registration.ts';

/** Contract node.md §7: the loop, and what a registration that failed waits. */
const FirstRetryMs = 500;
const MaxRetryMs = 122_000;
/** Changes are told by the watch; this finds what it missed. */
const LookMs = 10_000;

export interface PluginManagerDeps {
  /** {root}/plugins_registry. */
  dir: string;
  clock: Clock;
  log: Logger;
  find(dir: string): Promise<FoundSockets>;
  /** Watches directories: `changed` is called when an entry of one comes or goes. */
  watch(changed: () => void): DirectoryWatch;
  handlers: ReadonlyMap<PluginType, PluginHandler>;
  makeDirectory(path: string, mode: number): Promise<void>;
}

export interface DirectoryWatch {
  /** The directories to watch from now on. */
  set(directories: readonly string[]): Promise<void>;
  close(): void;
}

/** A socket that is there, and the work on it. */
interface Entry {
  identity: string;
  stop: AbortController;
  registered: RegisteredPlugin | undefined;
  work: Promise<void>;
}

/**
 * Registers the plug-ins whose sockets appear below {root}/plugins_registry, and lets go of them when the socket is gone or
 * another one takes its name. A plug-in that fails, or does not answer, is tried again by itself and holds up no other.
 */
export class PluginManager implements Service {
  readonly name = 'plugin-manager';
  readonly #deps: PluginManagerDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #releases = new Set<Promise<void>>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #pause: Pause;
  #loop: Promise<void> = Promise.resolve();
  #fault: string | undefined;

  constructor(deps: PluginManagerDeps) {
    this.#deps = deps;
    this.#pause = new Pause(deps.clock);
  }

  async start(signal: AbortSignal): Promise<void> {
    await this.#deps.makeDirectory(this.#deps.dir, 0o750);
    this.#loop = this.#run(signal);
  }

  /** Resolves when the directory was looked at once: registrations go on. */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  health(): Health {
    return this.#fault === undefined ? { ok: true } : { ok: false, reason: this.#fault };
  }

  async stop(): Promise<void> {
    await this.#loop;
    await Promise.all([...[...this.#entries.values()].map(({ work }) => work), ...this.#releases]);
  }

  /** Sockets of plug-ins that were told that they are registered, sorted. */
  registered(): string[] {
    return [...this.#entries].flatMap(([path, entry]) => (entry.registered === undefined ? [] : [path])).sort();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { dir, find, watch, log } = this.#deps;
    const watching = watch(() => this.#pause.poke());
    try {
      while (!signal.aborted) {
        try {
          const { sockets, directories } = await find(dir);
          await watching.set(directories.length === 0 ? [dir] : directories);
          // What came while the watches were set.
          this.#take(directories.length === 0 ? sockets : (await find(dir)).sockets, signal);
          this.#fault = undefined;
        } catch (err) {
          this.#fault = `cannot look for plug-ins in ${dir}: ${err instanceof Error ? err.message : String(err)}`;
          log.error(err, 'Failed to look for plug-ins', { path: dir });
        }
        this.#ready.resolve();
        await this.#pause.wait(LookMs, signal);
      }
    } finally {
      watching.close();
    }
  }

  #take(sockets: ReadonlyMap<string, string>, signal: AbortSignal): void {
    for (const [path, entry] of this.#entries) {
      if (sockets.get(path) === entry.identity) continue;
      this.#entries.delete(path);
      entry.stop.abort();
      const over = this.#release(path, entry).finally(() => this.#releases.delete(over));
      this.#releases.add(over);
      const identity = sockets.get(path);
      // A new one of that name comes after the old one is gone.
      if (identity !== undefined) this.#begin(path, identity, over, signal);
    }
    for (const [path, identity] of sockets) if (!this.#entries.has(path)) this.#begin(path, identity, Promise.resolve(), signal);
  }

  #begin(path: string, identity: string, after: Promise<void>, signal: AbortSignal): void {
    const stop = new AbortController();
    const entry: Entry = { identity, stop, registered: undefined, work: Promise.resolve() };
    entry.work = after.then(() => this.#register(path, entry, AbortSignal.any([signal, stop.signal])));
    this.#entries.set(path, entry);
  }

  async #register(path: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const { clock, log, handlers } = this.#deps;
    for (let wait = FirstRetryMs; !signal.aborted; wait = Math.min(wait * 2, MaxRetryMs)) {
      try {
        const registered = await registerPlugin({ clock, handlers }, path, signal);
        entry.registered = registered;
        const { type, plugin } = registered;
        log.info('Registered plugin', { type, name: plugin.name, endpoint: plugin.endpoint, path });
        return;
      } catch (err) {
        if (signal.aborted) return;
        log.error(err, 'Failed to register plugin, will retry', { path, delayMilliseconds: wait });
        await clock.sleep(wait, signal).catch(() => undefined);
      }
    }
  }

  async #release(path: string, entry: Entry): Promise<void> {
    await entry.work;
    if (entry.registered === undefined) return;
    const { type, plugin, handler } = entry.registered;
    this.#deps.log.info('Plugin socket is gone, deregistering', { type, name: plugin.name, path });
    await handler.deregister(plugin);
  }
}
