import { toJsonForm } from '../../src/config/defaults.ts';
import { formatFault } from '../../src/config/errors.ts';
import { type JsonObject, newObject } from '../../src/config/json-object.ts';
import { ConfigBuilder } from '../../src/config/load.ts';
import { readConfigData } from '../../src/config/read-file.ts';

const path = '/tmp/kts-vectors/cfg/config.yaml';

/** The folder of the file in the vectors does not exist: nothing may be read from it. */
const noFiles = {
  cwd: '/',
  readFile: () => Promise.reject(new Error('no file is read here')),
  listDir: () => Promise.reject(new Error('no folder is read here')),
};

export interface LoadedText {
  builder: ConfigBuilder;
  config: JsonObject;
  /** What stops the start: wrong text, kind, types and feature gates. Rules on values come later. */
  faults: string[];
  /** Unknown fields and keys that stand twice. */
  complaints: string[];
}

/** Loads a configuration file's text as far as the real loader goes: decode, defaults, relative paths, gates. */
export function loadText(text: string): LoadedText {
  const builder = new ConfigBuilder(noFiles);
  builder.main(readConfigData(Buffer.from(text), path), path, path);
  const config = builder.faults.length > 0 ? newObject() : toJsonForm(builder.config);
  const complaints = builder.warnings.flatMap((w) => (w.field === undefined ? [] : [w.field]));
  const faults = [...builder.faults];
  if (faults.length === 0) {
    const checked = new ConfigBuilder(noFiles);
    checked.config = builder.config;
    checked.finish({ cgroupV2: true });
    faults.push(...checked.faults.filter((f) => f.code === 'gate'));
  }
  return { builder, config, faults: faults.map(formatFault), complaints };
}
