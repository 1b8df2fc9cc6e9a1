import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface ConformanceCommand {
  /** Empty for all. */
  areas: string[];
  focus: RegExp | undefined;
  kubelet: string;
  /** True when the kubelet is this project's. */
  own: boolean;
  processes: number;
  timeoutMinutes: number;
  featureGates: string;
}

export const USAGE = `npm run conformance -- [--area A,B | --focus REGEX] [--kubelet PATH]

  --area           files of the suite, as pods or kubelet; default all. Runs their specs that the Go kubelet passes
  --focus          specs whose name matches, also those that the Go kubelet does not pass
  --kubelet        another kubelet (default bin/kubelet-ts); docs/conformance.md is then left as it is
  --procs          how many specs run side by side (default 12: they mostly wait)
  --timeout        minutes that each run of the suite may take (default 60)
  --feature-gates  of kubelet and API server, as Name=true,...

Exit 0 when each spec passed that the Go kubelet passes, else 1.
`;

/** Reads the command line of `npm run conformance`. Throws on what it does not know. */
export function parseConformanceOptions(args: string[], project: string): ConformanceCommand | 'help' {
  const { values } = parseArgs({
    args,
    options: {
      area: { type: 'string', multiple: true, default: [] },
      focus: { type: 'string' },
      kubelet: { type: 'string' },
      procs: { type: 'string', default: '12' },
      timeout: { type: 'string', default: '60' },
      'feature-gates': { type: 'string', default: '' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const areas = values.area
    .flatMap((a) => a.split(','))
    .map((a) => a.trim())
    .filter(Boolean);
  if (areas.length > 0 && values.focus !== undefined) throw new Error('--area and --focus cannot stand together');
  const count = (flag: string, text: string) => {
    const n = Number(text);
    if (Number.isInteger(n) && n > 0) return n;
    throw new Error(`--${flag} ${text}: a whole number above 0`);
  };
  return {
    areas,
    focus: values.focus === undefined ? undefined : new RegExp(values.focus),
    kubelet: values.kubelet === undefined ? resolve(project, 'bin/kubelet-ts') : resolve(values.kubelet),
    own: values.kubelet === undefined,
    processes: count('procs', values.procs),
    timeoutMinutes: count('timeout', values.timeout),
    featureGates: values['feature-gates'],
  };
}
