import { labelValueFaults, qualifiedNameFaults } from '../api/names.ts';

/** Labels under kubernetes.io and k8s.io that a kubelet may give its node. Contract: flags-config.md §4, node-labels. */
const allowedNamespaces = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const allowedLabels = new Set([
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);

const within = (namespace: string, domain: string): boolean => namespace === domain || namespace.endsWith(`.${domain}`);

function isReserved(key: string): boolean {
  const slash = key.indexOf('/');
  if (slash === -1) return false;
  const namespace = key.slice(0, slash);
  if (!within(namespace, 'kubernetes.io') && !within(namespace, 'k8s.io')) return false;
  return !allowedLabels.has(key) && !allowedNamespaces.some((allowed) => within(namespace, allowed));
}

export interface LabelFault {
  label: string;
  rule: string;
  remedy?: string;
}

/** What is wrong with the labels of --node-labels. Empty when all may be used. */
export function nodeLabelFaults(labels: Readonly<Record<string, string>>): LabelFault[] {
  const faults: LabelFault[] = [];
  for (const [key, value] of Object.entries(labels)) {
    if (isReserved(key)) {
      faults.push({
        label: key,
        rule: 'labels under kubernetes.io and k8s.io are reserved',
        remedy: `allowed are those under ${allowedNamespaces.join(' and ')}, and ${[...allowedLabels].join(', ')}`,
      });
    }
    for (const fault of qualifiedNameFaults(key)) faults.push({ label: key, rule: `the key's ${fault}` });
    for (const fault of labelValueFaults(value)) faults.push({ label: key, rule: `the value ${JSON.stringify(value)} ${fault}` });
  }
  return faults;
}
