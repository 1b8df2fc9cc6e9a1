// The entry: finds the command and loads only what it needs. `--version` loads nothing but its own text.
const args = process.argv.slice(2);
const [first, ...rest] = args;

if (args.length === 1 && (first === '--version' || first === '--version=true' || first === '--version=raw')) {
  const { versionText } = await import('./cli/version.ts');
  console.log(versionText(first.slice('--version='.length) || 'true'));
} else if (first === 'version') {
  const { versionCommand } = await import('./cli/version-command.ts');
  process.exitCode = versionCommand(rest);
} else if (first === 'config') {
  const { configCommand } = await import('./cli/config.ts');
  process.exitCode = await configCommand(rest);
} else if (first === 'doctor') {
  const { doctorCommand } = await import('./cli/doctor.ts');
  process.exitCode = await doctorCommand(rest);
} else if (first === 'help' || args.includes('--help') || args.includes('-h')) {
  const { helpCommand } = await import('./cli/help.ts');
  process.exitCode = await helpCommand();
} else {
  const { runCommand } = await import('./cli/run.ts');
  process.exitCode = await runCommand(args);
}
