import { posix } from 'node:path';
import { systemClock } from '../host/clock.ts';
import { nodeFiles } from '../host/files-node.ts';
import { findSockets } from '../host/find-sockets.ts';
import { DirectoriesWatch } from '../host/watch-directories.ts';
import type { Logger } from '../observe/log.ts';
import type { PluginHandler, PluginType } from '../plugins/plugin-handler.ts';
import { PluginManager } from '../plugins/plugin-manager.ts';

/** Who takes which plug-ins in on this node. */
export type PluginTypes = { readonly [type in PluginType]?: PluginHandler | undefined };

/** Registers plug-ins of this machine. A type without handler is told that there is none. */
export function nodePlugins(rootDir: string, types: PluginTypes, log: Logger): PluginManager {
  const handlers = new Map<PluginType, PluginHandler>();
  for (const [type, handler] of Object.entries(types)) if (handler !== undefined) handlers.set(type as PluginType, handler);
  const dir = posix.join(rootDir, 'plugins_registry');
  return new PluginManager({
    dir,
    clock: systemClock,
    log,
    find: findSockets,
    watch: (changed) =>
      new DirectoriesWatch(changed, (err) => log.warn('Cannot watch for plug-ins, they are looked for', { path: dir, err })),
    handlers,
    makeDirectory: async (path, mode) => {
      // Plug-ins lay their own sockets beside it.
      await nodeFiles.mkdir(posix.join(rootDir, 'plugins'), mode);
      await nodeFiles.mkdir(path, mode);
    },
  });
}
