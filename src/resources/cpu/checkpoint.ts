import { CpuSet, CpuSetError } from '../../api/cpuset.ts';
import { goJson } from '../../compat/go-json.ts';
import { goJsonString } from '../../compat/go-text.ts';
import { dumpChecksum, dumpMap, dumpStruct } from '../checkpoint/checksum.ts';
import { envelopeText, readEnvelope } from '../checkpoint/envelope.ts';
import { CheckpointContentError } from '../checkpoint/errors.ts';
import { byPodAndContainer, type Fields, own, textOf } from '../checkpoint/json.ts';
import type { CpuState } from './state.ts';

/** What cpu_manager_state holds: texts as they stand in the file. */
interface Content {
  policyName: string;
  defaultCpuSet: string;
  entries: Map<string, Map<string, string>>;
}

/** The text of cpu_manager_state. Source: contract node.md §5, vectors cpu-manager-state. */
export function writeCpuCheckpoint(policyName: string, { defaultSet, assignments }: CpuState): string {
  const content: Content = {
    policyName,
    defaultCpuSet: defaultSet.toString(),
    entries: new Map(
      [...assignments].map(([pod, containers]) => [pod, new Map([...containers].map(([name, cpus]) => [name, cpus.toString()]))]),
    ),
  };
  const fields = `"policyName":${goJsonString(policyName)},"defaultCpuSet":${goJsonString(content.defaultCpuSet)}${entriesJson(content.entries)}`;
  return envelopeText(fields, legacyChecksum(content));
}

function entriesJson(entries: Content['entries']): string {
  if (entries.size === 0) return '';
  return `,"entries":${goJson(Object.fromEntries([...entries].map(([pod, containers]) => [pod, Object.fromEntries(containers)])))}`;
}

/** Reads the file of any version. Throws CheckpointContentError for what is no such file, or damaged. `policyName` is left to be compared. */
export function readCpuCheckpoint(text: string): { policyName: string; state: CpuState } {
  return stateOf(readEnvelope(text, contentOf, legacyChecksums));
}

function contentOf(fields: Fields): Content {
  return {
    policyName: textOf(fields, 'policyName'),
    defaultCpuSet: textOf(fields, 'defaultCpuSet'),
    entries: byPodAndContainer(fields, 'entries', (value, where) => {
      if (typeof value === 'string') return value;
      throw new CheckpointContentError(`the CPUs of ${where} are not a text`);
    }),
  };
}

function stateOf({ policyName, defaultCpuSet, entries }: Content): { policyName: string; state: CpuState } {
  const assignments = new Map(
    [...entries].map(([pod, containers]) => [
      pod,
      new Map([...containers].map(([name, text]) => [name, cpusOf(text, `the CPUs of container ${name} of pod ${pod}`)])),
    ]),
  );
  return { policyName, state: { defaultSet: cpusOf(defaultCpuSet, 'defaultCpuSet'), assignments } };
}

function cpusOf(text: string, whose: string): CpuSet {
  try {
    return CpuSet.parse(text);
  } catch (err) {
    if (err instanceof CpuSetError) throw new CheckpointContentError(`could not parse ${whose}: ${err.message}`);
    throw err;
  }
}

const TypeName = '(*state.CPUManagerCheckpoint)';
const dumpEntries = (entries: Content['entries']) => dumpMap(entries, (containers) => dumpMap(containers, (cpus) => cpus));

/** The second version, whose checksum is written to this day. */
function legacyChecksum(content: Content): number {
  return dumpChecksum(
    TypeName +
      dumpStruct([
        ['PolicyName', 'string', content.policyName],
        ['DefaultCPUSet', 'string', content.defaultCpuSet],
        ['Entries', 'map[string]map[string]string', dumpEntries(content.entries)],
        ['Checksum', 'checksum.Checksum', '0'],
      ]),
  );
}

/** Versions two and three; the third had the pods' own sets, too. */
function legacyChecksums(content: Content, fields: Fields): number[] {
  const pods = Object.entries(own(fields, 'podEntries') ?? {}).map(([uid, entry]) => [uid, podSet(uid, entry)] as const);
  const third = dumpStruct([
    ['PolicyName', 'string', content.policyName],
    ['DefaultCPUSet', 'string', content.defaultCpuSet],
    ['Entries', 'map[string]map[string]string', dumpEntries(content.entries)],
    ['PodEntries', 'state.PodCPUAssignments', dumpMap(pods, (set) => set)],
    ['Checksum', 'checksum.Checksum', '0'],
  ]);
  return [legacyChecksum(content), dumpChecksum(TypeName + third)];
}

/** The dump of one pod's set: Go's set of CPUs is a map of empty structs. */
function podSet(uid: string, entry: unknown): string {
  const text = typeof entry === 'object' && entry !== null && 'cpuSet' in entry && typeof entry.cpuSet === 'string' ? entry.cpuSet : '';
  return `{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[${[...cpusOf(text, `the CPUs of pod ${uid}`)].map((cpu) => `${cpu}:{}`).join(' ')}]}}`;
}
