import type { ServiceDefinition } from '@grpc/proto-loader';
import type { Clock } from '../host/clock.ts';
import { loadProtocol, serviceOf } from '../proto/load.ts';
import { UnixClient } from '../proto/unix-client.ts';
import type { PluginHandler, PluginInfo } from './plugin-handler.ts';

/** Contract node.md §7. */
const DialMs = 10_000;
const GetInfoMs = 1_000;
const NotifyMs = 5_000;

interface InfoAnswer {
  type: string;
  name: string;
  endpoint: string;
  supportedVersions: string[];
}

export interface RegistrationDeps {
  clock: Clock;
  handlers: ReadonlyMap<string, PluginHandler>;
}

/** A plug-in that was told that it is registered. */
export interface RegisteredPlugin {
  type: string;
  plugin: PluginInfo;
  handler: PluginHandler;
}

let service: ServiceDefinition | undefined;

/**
 * Asks the plug-in behind `socket` what it is, hands it to the handler of its type and tells it how that went. Rejects with
 * what went wrong, which the plug-in was told where it could be; nothing of it is registered then. Texts: the real kubelet's.
 */
export async function registerPlugin(
  { clock, handlers }: RegistrationDeps,
  socket: string,
  signal: AbortSignal,
): Promise<RegisteredPlugin> {
  service ??= serviceOf(loadProtocol('pluginregistration/v1/api'), 'pluginregistration.Registration');
  using client = new UnixClient(socket, service);
  const deadline = (ms: number) => ({ deadline: clock.now() + ms, signal });
  await client.connected(clock.now() + DialMs).catch((err: unknown) => fail(`dial failed at socket ${socket}, err: ${textOf(err)}`, err));
  const info = await client
    .call<InfoAnswer>('GetInfo', {}, deadline(GetInfoMs))
    .catch((err: unknown) => fail(`failed to get plugin info using RPC GetInfo at socket ${socket}, err: ${textOf(err)}`, err));
  const notify = (error: string) => client.call('NotifyRegistrationStatus', { pluginRegistered: error === '', error }, deadline(NotifyMs));
  const refuse = async (text: string, cause?: unknown): Promise<never> => {
    // Whether it hears it or not: the cause is what counts.
    await notify(`RegisterPlugin error -- ${text}`).catch(() => undefined);
    return fail(text, cause);
  };
  const plugin: PluginInfo = { name: info.name, endpoint: info.endpoint || socket, versions: info.supportedVersions };
  const handler = handlers.get(info.type);
  if (handler === undefined) return await refuse(`no handler registered for plugin type: ${info.type} at socket ${socket}`);
  try {
    handler.validate(plugin);
  } catch (err) {
    return await refuse(`plugin validation failed with err: ${textOf(err)}`, err);
  }
  try {
    await handler.register(plugin, signal);
  } catch (err) {
    return await refuse(`plugin registration failed with err: ${textOf(err)}`, err);
  }
  try {
    await notify('');
  } catch (err) {
    await handler.deregister(plugin);
    return fail(`failed to send registration status at socket ${socket}, err: ${textOf(err)}`, err);
  }
  return { type: info.type, plugin, handler };
}

function fail(text: string, cause?: unknown): never {
  throw new Error(`RegisterPlugin error -- ${text}`, { cause });
}

function textOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
