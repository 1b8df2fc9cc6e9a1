import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigBuilder } from './load.ts';
import { readConfigData } from './read-file.ts';
import { header, memoryIo } from './test-io.ts';

function faultsOf(text: string) {
  const builder = new ConfigBuilder(memoryIo({}));
  builder.main(readConfigData(Buffer.from(header + text), 'f'), '/cfg/f', 'f');
  builder.finish({ cgroupV2: true });
  return builder.faults;
}

const STATIC = 'cpuManagerPolicy: static\nreservedSystemCPUs: "0"\n';
const MEMORY = 'memoryManagerPolicy: Static\nreservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\n';

const cases: [text: string, ...fields: string[]][] = [
  [STATIC],
  ['cpuManagerPolicy: static\nkubeReserved: {cpu: 100m}'],
  ['cpuManagerPolicy: static\nkubeReserved: {memory: 1Gi}', 'reservedSystemCPUs'],
  ['cpuManagerPolicy: fixed', 'cpuManagerPolicy'],
  ['memoryManagerPolicy: static', 'memoryManagerPolicy'],
  [MEMORY],
  ['memoryManagerPolicy: Static', 'reservedMemory'],
  ['cpuManagerPolicyOptions: {full-pcpus-only: "true"}', 'cpuManagerPolicyOptions'],
  [`${STATIC}cpuManagerPolicyOptions: {full-pcpus-only: "true", strict-cpu-reservation: "true", distribute-cpus-across-numa: "true"}`],
  [`${STATIC}cpuManagerPolicyOptions: {full-pcpus-only: "maybe"}`, 'cpuManagerPolicyOptions[full-pcpus-only]'],
  [`${STATIC}cpuManagerPolicyOptions: {other: "true"}`, 'cpuManagerPolicyOptions[other]'],
  [`${STATIC}cpuManagerPolicyOptions: {align-by-socket: "true"}`, 'cpuManagerPolicyOptions[align-by-socket]'],
  [`${STATIC}featureGates: {CPUManagerPolicyAlphaOptions: true}\ncpuManagerPolicyOptions: {align-by-socket: "true"}`],
  [
    `${STATIC}featureGates: {CPUManagerPolicyAlphaOptions: true}\ntopologyManagerPolicy: single-numa-node\ncpuManagerPolicyOptions: {align-by-socket: "true"}`,
    'cpuManagerPolicyOptions[align-by-socket]',
  ],
  [
    `${STATIC}cpuManagerPolicyOptions: {distribute-cpus-across-numa: "true", prefer-align-cpus-by-uncorecache: "true"}`,
    'cpuManagerPolicyOptions',
  ],
  [
    'topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {max-allowable-numa-nodes: "7"}',
    'topologyManagerPolicyOptions[max-allowable-numa-nodes]',
  ],
  ['topologyManagerPolicy: restricted\ntopologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true", max-allowable-numa-nodes: "16"}'],
  ['topologyManagerPolicyOptions: {anything: "x"}'],
];

test('policies of the managers and their options', () => {
  for (const [text, ...fields] of cases)
    assert.deepEqual(
      faultsOf(text).map((f) => f.field),
      fields,
      text,
    );
});
