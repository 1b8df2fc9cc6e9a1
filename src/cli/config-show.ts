import { ConfigErrors, formatWarning } from '../config/errors.ts';
import { loadKubelet } from '../config/load.ts';
import { formatOrigin } from '../config/origin.ts';
import { configYaml, maskConfig } from '../config/show.ts';
import { systemConfigIo } from './config-io.ts';

/** Prints the configuration in force, which does not depend on this host. Returns 0, or 1 when flags or files are refused. */
export async function configShow(flags: readonly string[], options: { origin: boolean; output: 'yaml' | 'json' }): Promise<number> {
  try {
    const { config, origins, warnings } = await loadKubelet(flags, { ...systemConfigIo, cgroupV2: async () => true });
    for (const warning of warnings) console.error(`warning: ${formatWarning(warning)}`);
    const origin = (path: string): string => formatOrigin(origins.of(path));
    if (options.output === 'yaml') console.log(configYaml(config, options.origin ? origin : undefined).trimEnd());
    else console.log(JSON.stringify(maskConfig(config), null, 2));
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigErrors)) throw error;
    console.error(error.message);
    return 1;
  }
}
