/** What a plug-in says of itself. */
export interface PluginInfo {
  /** Unique among plug-ins of one type: the driver, or the resource. */
  name: string;
  /** Path of the socket of its service. */
  endpoint: string;
  /** Versions of the service, as the plug-in spells them. */
  versions: readonly string[];
}

/** One kind of plug-in. Calls for one socket come one after another. */
export interface PluginHandler {
  /** Throws when the plug-in cannot be taken; the text is told to it. */
  validate(plugin: PluginInfo): void;
  /** Takes it in. Rejects when that failed: nothing of it is kept then. */
  register(plugin: PluginInfo, signal: AbortSignal): Promise<void>;
  /** Its socket is gone, or it was not told that it is registered. Never rejects. */
  deregister(plugin: PluginInfo): Promise<void>;
}

/** The types that plug-ins may name. */
export type PluginType = 'CSIPlugin' | 'DevicePlugin' | 'DRAPlugin';
