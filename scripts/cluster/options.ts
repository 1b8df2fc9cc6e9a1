import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

export interface ClusterCommand {
  nodes: number;
  /** Scales a deployment up and down, tells the times, ends. */
  check: boolean;
  kubelet: string;
}

export const USAGE = `npm run cluster -- [--nodes N] [--check] [--kubelet PATH]

  --nodes     1 (default) in the host's network, or up to 8 in network namespaces of their own
  --check     wait for the nodes, scale a deployment to 30 and back to 0, tell the times, end:
              exit 0, or 1 when a node is not Ready within 10 s or pods are missing or left
  --kubelet   another kubelet (default bin/kubelet-ts)
`;

/** Reads the command line of `npm run cluster`. Throws on what it does not know. */
export function parseClusterOptions(args: string[], project: string): ClusterCommand | 'help' {
  const { values } = parseArgs({
    args,
    options: {
      nodes: { type: 'string', default: '1' },
      check: { type: 'boolean', default: false },
      kubelet: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return 'help';
  const nodes = Number(values.nodes);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > 8) throw new Error(`--nodes ${values.nodes}: a whole number from 1 to 8`);
  return {
    nodes,
    check: values.check,
    kubelet: values.kubelet === undefined ? resolve(project, 'bin/kubelet-ts') : resolve(values.kubelet),
  };
}
