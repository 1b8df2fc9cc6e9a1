import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface StartOptions {
  /** Ends when all pods are ready, with exit code 0, or after the timeout with 1. */
  once: boolean;
  manifests: string;
  /** Milliseconds that the pods may take. */
  timeoutMs: number;
}

export const USAGE = `npm start -- [--once] [--manifests FOLDER] [--timeout SECONDS]

  --once        end when all pods are ready: exit 0, or 1 with the reason
  --manifests   folder of static pods (default examples/manifests)
  --timeout     how long the pods may take with --once (default 120)
`;

/** Reads the command line of `npm start`. Throws on what it does not know. */
export function parseStartOptions(args: string[], project: string): StartOptions | 'help' {
  const { values } = parseArgs({
    args,
    options: {
      once: { type: 'boolean', default: false },
      manifests: { type: 'string' },
      timeout: { type: 'string', default: '120' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const seconds = Number(values.timeout);
  if (!(seconds > 0)) throw new Error(`--timeout ${values.timeout}: a number of seconds above 0`);
  return {
    once: values.once,
    manifests: values.manifests === undefined ? resolve(project, 'examples/manifests') : resolve(values.manifests),
    timeoutMs: seconds * 1000,
  };
}
