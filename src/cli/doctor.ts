import { resolve } from 'node:path';
import yargs from 'yargs';
import { type CheckResult, cisResults } from '../doctor/cis-checks.ts';
import { hostRoot } from '../doctor/host-root.ts';
import { readNodeRoot } from '../doctor/node-root.ts';

const MARKS = { pass: '[PASS]', fail: '[FAIL]', absent: '[N/A ]' } as const;

/** `doctor --cis [--root DIR]`: the benchmark's checks on a node. Returns 0, 1 when a check fails, 2 for a wrong call. */
export async function doctorCommand(args: readonly string[]): Promise<number> {
  let code = 0;
  await yargs([...args])
    .scriptName('kubelet-ts doctor')
    .usage('$0 --cis [--root DIR]\n\nChecks how a node is set up, for any kubelet: its service, flags and files.')
    .option('cis', { type: 'boolean', demandOption: true, describe: 'The checks of the CIS Kubernetes Benchmark, sections 4.1 and 4.2' })
    .option('root', { type: 'string', default: '/', describe: 'The folder that the node lies under' })
    .option('output', { choices: ['text', 'json'] as const, default: 'text' as const, describe: 'Form of the output' })
    .command('$0', false, {}, async (argv) => {
      code = await cis(resolve(String(argv['root'])), argv['output'] === 'json');
    })
    .strict()
    .version(false)
    .help()
    .exitProcess(false)
    .fail((message, error) => {
      if (error !== undefined && message === null) throw error;
      console.error(`kubelet-ts doctor: ${message}\n'kubelet-ts doctor --help' says more`);
      code = 2;
    })
    .parseAsync();
  return code;
}

async function cis(root: string, asJson: boolean): Promise<number> {
  const node = await readNodeRoot(hostRoot(root));
  const results = cisResults(node);
  if (asJson) console.log(JSON.stringify({ problems: node.problems, results }, null, 2));
  else print(results, node.problems);
  // A root without a kubelet has nothing that could pass.
  const isEmpty = node.serviceFiles.length === 0 && node.config === undefined && node.flags.size === 0;
  return isEmpty || results.some((r) => r.outcome === 'fail') ? 1 : 0;
}

function print(results: readonly CheckResult[], problems: readonly string[]): void {
  for (const problem of problems) console.error(`warning: ${problem}`);
  for (const { id, title, outcome, seen, remedy } of results) {
    console.log(`${MARKS[outcome]} ${id.padEnd(6)} ${title} (${seen})`);
    if (outcome === 'fail') console.log(`              remedy: ${remedy}`);
  }
  const count = (outcome: CheckResult['outcome']) => results.filter((r) => r.outcome === outcome).length;
  console.log(`${count('pass')} passed, ${count('fail')} failed, ${count('absent')} about what is not on this node`);
}
