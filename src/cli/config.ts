import yargs from 'yargs';

/** `config check` and `config show`. Returns the exit code. */
export async function configCommand(args: readonly string[]): Promise<number> {
  let code = 0;
  await yargs([...args])
    .scriptName('kubelet-ts config')
    .usage('$0 <command>')
    .parserConfiguration({
      'unknown-options-as-args': true,
      'camel-case-expansion': false,
      'boolean-negation': false,
      'parse-positional-numbers': false,
    })
    .command(
      'check <file..>',
      'Say everything that is wrong with configuration files',
      (y) =>
        y
          .positional('file', { type: 'string', array: true, demandOption: true, describe: 'KubeletConfiguration, YAML or JSON' })
          .option('strict', { type: 'boolean', default: false, describe: 'Unknown fields and keys that stand twice are errors, too' })
          .option('config-dir', { type: 'string', describe: 'Folder of drop-ins, merged onto each file' }),
      async (argv) => {
        const { configCheck } = await import('./config-check.ts');
        const dropIns = argv['config-dir'];
        code = await configCheck(argv.file, { strict: argv.strict, ...(dropIns === undefined ? {} : { dropIns }) });
      },
    )
    .command(
      'show [flags..]',
      "Print the configuration in force, from the kubelet's flags and files",
      (y) =>
        y
          .positional('flags', { type: 'string', array: true, default: [], describe: 'The flags of the kubelet' })
          .option('origin', { type: 'boolean', default: false, describe: 'Say where each value comes from' })
          .option('output', { choices: ['yaml', 'json'] as const, default: 'yaml' as const, describe: 'Form of the output' }),
      async (argv) => {
        const { configShow } = await import('./config-show.ts');
        const own = new Set(['show', '--origin']);
        const flags = args.filter((arg, i) => !own.has(arg) && !arg.startsWith('--origin=') && !isOutput(args, i));
        code = await configShow(flags, { origin: argv.origin, output: argv.output });
      },
    )
    .demandCommand(1, 'Say what to do: check or show')
    .strictCommands()
    .version(false)
    .help()
    .exitProcess(false)
    .fail((message, error) => {
      console.error(`kubelet-ts config: ${message ?? error?.message}\n'kubelet-ts config --help' says more`);
      if (error !== undefined && message === null) throw error;
      code = 1;
    })
    .parseAsync();
  return code;
}

function isOutput(args: readonly string[], i: number): boolean {
  const arg = args[i] ?? '';
  return arg.startsWith('--output=') || arg === '--output' || args[i - 1] === '--output';
}
