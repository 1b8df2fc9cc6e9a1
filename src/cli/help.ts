import yargs, { type Options } from 'yargs';
import { fields } from '../config/fields.ts';
import { kubeletFlags } from '../config/kubelet-flags.ts';

const intro = `The node agent of Kubernetes: runs the pods of one node.

kubelet-ts [flags]                       run
kubelet-ts version [--long]              print the version; the kubelet's own --version and --version=raw, too
kubelet-ts config check FILE...          say everything that is wrong with configuration files
kubelet-ts config show [--origin] [flags]  print the configuration in force
kubelet-ts doctor --cis [--root DIR]       check how a node is set up against the CIS benchmark`;

const groups = {
  process: 'Flags of the process:',
  logging: 'Logging:',
  config: 'Flags with a field in the configuration file, which is the better place for most:',
} as const;

function defaultText(value: unknown): string {
  if (value === undefined || value === '') return '""';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Lists all flags in groups. Returns 0. */
export async function helpCommand(): Promise<number> {
  const options: Record<string, Options> = {};
  for (const flag of kubeletFlags) {
    const unit = flag.type === 'duration' ? `${Number(flag.default) / 1000}s` : defaultText(flag.default);
    options[flag.name] = {
      group: groups.process,
      describe: flag.help,
      defaultDescription: unit,
      deprecated: flag.deprecated !== undefined,
    };
  }
  for (const field of fields) {
    if (field.flag === undefined) continue;
    const group = field.path.startsWith('logging.') ? groups.logging : groups.config;
    const describe = `${field.help} (${field.path})`;
    options[field.flag.name] = {
      group,
      describe,
      defaultDescription: defaultText(field.legacyDefault ?? field.default ?? zeroText(field.type.t)),
      deprecated: field.flag.kept !== true,
    };
  }
  const text = await yargs([])
    .scriptName('kubelet-ts')
    .usage(intro)
    .options(options)
    .wrap(Math.min(process.stdout.columns ?? 120, 160))
    .version(false)
    .help(false)
    .getHelp();
  console.log(text);
  return 0;
}

function zeroText(type: string): unknown {
  if (type === 'bool') return false;
  return type === 'int' ? 0 : '';
}
