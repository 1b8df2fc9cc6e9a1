import type { Clock } from '../clock.ts';
import { DBusConnection, DBusError } from '../dbus/connection.ts';
import type { DBusValue, Variant } from '../dbus/marshal.ts';

/** Where systemd itself takes calls of root, without a message bus between. */
export const SYSTEMD_SOCKET = '/run/systemd/private';

const DESTINATION = 'org.freedesktop.systemd1';
const PATH = '/org/freedesktop/systemd1';
const MANAGER = 'org.freedesktop.systemd1.Manager';
/** How long a job, such as stopping a slice, may take, in milliseconds. */
const JOB_LIMIT_MS = 30_000;
/** Results that were told before anybody asked; older ones go. */
const KEPT_RESULTS = 256;

/** A property of a unit and its value. */
export type UnitProperty = readonly [name: string, value: Variant];

export const asU64 = (value: number | bigint): Variant => ({ signature: 't', value: BigInt(value) });
export const asBool = (value: boolean): Variant => ({ signature: 'b', value });
export const asText = (value: string): Variant => ({ signature: 's', value });
export const asTexts = (value: readonly string[]): Variant => ({ signature: 'as', value });

/** Units of systemd that this process makes and ends. */
export interface SystemdUnits {
  /** Makes and starts a transient unit. False when a unit of that name is there already. */
  start(name: string, properties: readonly UnitProperty[]): Promise<boolean>;
  /** Changes properties of a running unit until the next boot. */
  setProperties(name: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Stops a unit with all that runs in it, and forgets its failure. A missing one is fine. */
  stop(name: string): Promise<void>;
}

/**
 * systemd's manager over its own socket. The connection is made by the first call and again after a loss, so that a
 * re-executed systemd costs one failed call at most.
 */
export class SystemdManager implements SystemdUnits {
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #socket: string;
  readonly #closed = new AbortController();
  readonly #results = new Map<string, string>();
  readonly #waiting = new Map<string, (result: string) => void>();
  #connection: Promise<DBusConnection> | undefined;

  constructor(clock: Pick<Clock, 'sleep'>, socket = SYSTEMD_SOCKET) {
    this.#clock = clock;
    this.#socket = socket;
  }

  async start(name: string, properties: readonly UnitProperty[]): Promise<boolean> {
    try {
      await this.#job('StartTransientUnit', 'ssa(sv)a(sa(sv))', [name, 'replace', properties, []], name);
      return true;
    } catch (error) {
      if (isRemote(error, 'org.freedesktop.systemd1.UnitExists')) return false;
      throw error;
    }
  }

  async setProperties(name: string, properties: readonly UnitProperty[]): Promise<void> {
    if (properties.length > 0) await this.#call('SetUnitProperties', 'sba(sv)', [name, true, properties]);
  }

  async stop(name: string): Promise<void> {
    try {
      await this.#job('StopUnit', 'ss', [name, 'replace'], name);
      await this.#call('ResetFailedUnit', 's', [name]);
    } catch (error) {
      // A unit that has ended is unloaded at once where nothing holds it.
      if (!isRemote(error, 'org.freedesktop.systemd1.NoSuchUnit')) throw error;
    }
  }

  close(): void {
    this.#closed.abort(new DBusError('Disconnected', 'the connection to systemd was closed'));
    void this.#connection?.then(
      (connection) => connection.close(),
      () => {},
    );
  }

  /** Calls a method that queues a job, and waits for the job's end. Rejects when it ends as anything but `done`. */
  async #job(member: string, signature: string, body: readonly DBusValue[], unit: string): Promise<void> {
    const [job] = await this.#call(member, signature, body);
    const result = await this.#resultOf(String(job));
    if (result !== 'done' && result !== 'skipped') throw new DBusError('Remote', `${member} of ${unit} ended as ${JSON.stringify(result)}`);
  }

  async #resultOf(job: string): Promise<string> {
    const known = this.#results.get(job);
    if (known !== undefined) return known;
    const told = new Promise<string>((resolve) => this.#waiting.set(job, resolve));
    const enough = new AbortController();
    const late = this.#clock.sleep(JOB_LIMIT_MS, enough.signal).then(() => `not ended after ${JOB_LIMIT_MS / 1000} s`);
    try {
      return await Promise.race([told, late]);
    } finally {
      this.#waiting.delete(job);
      enough.abort();
      late.catch(() => {});
    }
  }

  async #call(member: string, signature: string, body: readonly DBusValue[]): Promise<DBusValue[]> {
    const connection = await this.#connected();
    return connection.call({ destination: DESTINATION, path: PATH, interface: MANAGER, member, signature, body });
  }

  async #connected(): Promise<DBusConnection> {
    const current = await this.#connection?.catch(() => undefined);
    if (current?.isOpen === true) return current;
    this.#connection = this.#connect();
    return this.#connection;
  }

  async #connect(): Promise<DBusConnection> {
    const connection = await DBusConnection.connect(this.#socket, this.#closed.signal);
    connection.onSignal(({ interface: from, member, body }) => {
      if (from !== MANAGER || member !== 'JobRemoved') return;
      const [, job, , result] = body;
      this.#ended(String(job), String(result));
    });
    // Without this, signals of jobs go to other connections only.
    await connection.call({ destination: DESTINATION, path: PATH, interface: MANAGER, member: 'Subscribe', signature: '', body: [] });
    return connection;
  }

  #ended(job: string, result: string): void {
    this.#results.set(job, result);
    const oldest = this.#results.keys().next().value;
    if (this.#results.size > KEPT_RESULTS && oldest !== undefined) this.#results.delete(oldest);
    this.#waiting.get(job)?.(result);
  }
}

function isRemote(error: unknown, name: string): boolean {
  return error instanceof DBusError && error.remoteName === name;
}
