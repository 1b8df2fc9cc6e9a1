import { longVersionText, versionText } from './version.ts';

/** `version [--long]`. */
export function versionCommand(args: readonly string[]): number {
  const unknown = args.find((arg) => arg !== '--long');
  if (unknown !== undefined) {
    console.error(`kubelet-ts version: unknown argument ${unknown}; there is only --long`);
    return 1;
  }
  console.log(args.includes('--long') ? longVersionText() : versionText('true'));
  return 0;
}
