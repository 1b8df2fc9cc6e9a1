import { resolve } from 'node:path';
import { type ConfigFault, type ConfigWarning, formatFault, formatWarning, inOrder } from '../config/errors.ts';
import { ConfigBuilder } from '../config/load.ts';
import { systemConfigIo } from './config-io.ts';

export interface CheckOptions {
  /** Unknown fields and keys that stand twice are errors. */
  strict: boolean;
  /** Folder of drop-ins. */
  dropIns?: string;
}

interface Result {
  faults: ConfigFault[];
  warnings: ConfigWarning[];
}

async function checkFile(file: string, options: CheckOptions): Promise<Result> {
  const builder = new ConfigBuilder(systemConfigIo);
  if (file.endsWith('.conf')) {
    // A drop-in, on the defaults.
    builder.begin();
    await builder.dropInFile(file);
  } else {
    await builder.mainFile(file);
    builder.evictionDefaults();
  }
  if (options.dropIns !== undefined) await builder.dropIns(options.dropIns);
  // What depends on the host is checked where the file is used.
  builder.finish({ cgroupV2: true });
  const strict = builder.warnings.filter((w) => w.field !== undefined);
  if (!options.strict) return { faults: builder.faults, warnings: builder.warnings };
  const faults = strict.map(({ message, field, ...place }): ConfigFault => ({ code: 'strict', field: '', ...place, rule: message }));
  return { faults: [...builder.faults, ...faults], warnings: builder.warnings.filter((w) => w.field === undefined) };
}

/** Prints all errors of all files, each with its place. Returns 0, or 1 when there is an error. */
export async function configCheck(files: readonly string[], options: CheckOptions): Promise<number> {
  let errors = 0;
  const seen = new Set<string>();
  for (const file of files) {
    if (seen.has(resolve(file))) continue;
    seen.add(resolve(file));
    const { faults, warnings } = await checkFile(file, options);
    for (const warning of warnings) console.error(`warning: ${formatWarning(warning)}`);
    for (const fault of inOrder(faults)) console.error(formatFault(fault));
    if (faults.length === 0) console.log(`${file}: ok`);
    errors += faults.length;
  }
  if (errors > 0) console.error(`${errors} ${errors === 1 ? 'error' : 'errors'}`);
  return errors === 0 ? 0 : 1;
}
