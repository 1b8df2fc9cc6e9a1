import { typeName } from './field-types.ts';
import { type Field, fields } from './fields.ts';
import { kubeletFlags } from './kubelet-flags.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

function defaultCell(field: Field): string {
  const text =
    field.default === undefined ? '' : `\`${typeof field.default === 'string' ? field.default : JSON.stringify(field.default)}\``;
  return field.legacyDefault === undefined ? text : `${text} (without \`--config\`: \`${String(field.legacyDefault)}\`)`.trim();
}

function fieldRow(field: Field): string {
  const choices = field.choices === undefined ? '' : `: ${field.choices.join(', ')}`;
  const flag = field.flag === undefined ? '' : `\`--${field.flag.name}\`${field.flag.kept === true ? '' : ' (deprecated)'}`;
  return `| \`${field.path}\` | ${cell(typeName(field.type))} | ${cell(defaultCell(field))} | ${flag} | ${cell(field.help + choices)} |`;
}

const processSection = [
  '## The process',
  '',
  '| exit code | when |',
  '|---|---|',
  '| 0 | stopped by SIGTERM or SIGINT, or because another process waits for `--lock-file`; `--version`, `--help`; a check without errors |',
  '| 1 | flags or files are refused, the start failed, or a second signal came while stopping |',
  '| 2 | an error that nobody caught, as when a Go program panics; the log names the culprit |',
  '',
  'One agent runs on a root directory: a second one stops and names the pid of the first. `--lock-file` is locked with',
  "flock(2) by util-linux' `flock`; with `--exit-on-lock-contention` the agent stops within a second when another process",
  'waits for that lock (the real kubelet does when another one opens the file, which Node cannot see).',
];

/** docs/configuration.md: every field and flag, from the tables that the program itself reads. */
export function fieldDocs(): string {
  const flagRows = kubeletFlags.map((flag) => {
    const value = flag.type === 'duration' ? `${Number(flag.default) / 1000}s` : String(flag.default);
    const shown = value === '' ? '' : `\`${value}\``;
    return `| \`--${flag.name}\` | ${flag.type} | ${shown} | ${cell(flag.help)}${flag.deprecated === undefined ? '' : ' (deprecated)'} |`;
  });
  return [
    '# Configuration',
    '',
    'Written by `node src/config/field-docs.ts > docs/configuration.md` from the tables in `src/config/`; a test compares.',
    '',
    'A flag wins over a drop-in, a drop-in over the `--config` file, the file over the default. `kubelet-ts config show',
    '--origin [flags]` prints what is in force and where it comes from, `kubelet-ts config check FILE...` what is wrong.',
    '',
    '## KubeletConfiguration v1beta1',
    '',
    '| field | type | default | flag | meaning |',
    '|---|---|---|---|---|',
    ...fields.map(fieldRow),
    '',
    '## Flags without a field',
    '',
    '| flag | type | default | meaning |',
    '|---|---|---|---|',
    ...flagRows,
    '',
    ...processSection,
    '',
  ].join('\n');
}

if (import.meta.main) process.stdout.write(fieldDocs());
