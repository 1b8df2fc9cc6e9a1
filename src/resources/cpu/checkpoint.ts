import { CpuSet, CpuSetError } from '../../api/cpuset.ts';
import { goJson } from '../../compat/go-json.ts';
import { goJsonString } from '../../compat/go-text.ts';
import { dumpChecksum, dumpMap, dumpStruct, textChecksum } from '../checkpoint/checksum.ts';
import { CheckpointContentError } from '../checkpoint/errors.ts';
import { byPodAndContainer, countOf, type Fields, own, parseFields, textOf } from '../checkpoint/json.ts';
import type { CpuState } from './state.ts';

/** What cpu_manager_state holds: texts as they stand in the file. */
interface Content {
  policyName: string;
  defaultCpuSet: string;
  entries: Map<string, Map<string, string>>;
}

/**
 * The text of cpu_manager_state: the older form with its checksum, and the same in `data` with a checksum of its own. Source: contract node.md §5,
 * vectors cpu-manager-state.
 */
export function writeCpuCheckpoint(policyName: string, { defaultSet, assignments }: CpuState): string {
  const content: Content = {
    policyName,
    defaultCpuSet: defaultSet.toString(),
    entries: new Map(
      [...assignments].map(([pod, containers]) => [pod, new Map([...containers].map(([name, cpus]) => [name, cpus.toString()]))]),
    ),
  };
  const common = `"policyName":${goJsonString(policyName)},"defaultCpuSet":${goJsonString(content.defaultCpuSet)}${entriesJson(content.entries)}`;
  const data = `{${common}}`;
  return `{${common},"checksum":${legacyChecksum(content)},"data":${goJsonString(data)},"dataChecksum":${textChecksum(data)}}`;
}

function entriesJson(entries: Content['entries']): string {
  if (entries.size === 0) return '';
  return `,"entries":${goJson(Object.fromEntries([...entries].map(([pod, containers]) => [pod, Object.fromEntries(containers)])))}`;
}

/**
 * Reads the file of any version. Throws CheckpointContentError for what is no such file, or damaged. `policyName` is left to be compared.
 * Older agents wrote no `data`; those before them no checksum.
 */
export function readCpuCheckpoint(text: string): { policyName: string; state: CpuState } {
  const fields = parseFields(text, 'the checkpoint');
  const data = textOf(fields, 'data');
  const dataChecksum = countOf(fields, 'dataChecksum');
  if (data !== '' || dataChecksum !== 0) {
    if (textChecksum(data) !== dataChecksum)
      throw new CheckpointContentError('checkpoint is corrupted: its data does not have its dataChecksum');
    return stateOf(contentOf(parseFields(data, 'its data')));
  }
  const content = contentOf(fields);
  const checksum = countOf(fields, 'checksum');
  if (checksum !== 0 && !legacyChecksums(content, fields).includes(checksum)) {
    throw new CheckpointContentError('checkpoint is corrupted: it does not have its checksum');
  }
  return stateOf(content);
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
  const cpus = (text: string, whose: string) => {
    try {
      return CpuSet.parse(text);
    } catch (err) {
      if (err instanceof CpuSetError) throw new CheckpointContentError(`could not parse ${whose}: ${err.message}`);
      throw err;
    }
  };
  const assignments = new Map(
    [...entries].map(([pod, containers]) => [
      pod,
      new Map([...containers].map(([name, text]) => [name, cpus(text, `the CPUs of container ${name} of pod ${pod}`)])),
    ]),
  );
  return { policyName, state: { defaultSet: cpus(defaultCpuSet, 'defaultCpuSet'), assignments } };
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
  const pods = Object.entries(own(fields, 'podEntries') ?? {}).map(([uid, entry]) => [uid, podSet(entry)] as const);
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
function podSet(entry: unknown): string {
  const text = typeof entry === 'object' && entry !== null && 'cpuSet' in entry && typeof entry.cpuSet === 'string' ? entry.cpuSet : '';
  return `{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})map[${[...CpuSet.parse(text)].map((cpu) => `${cpu}:{}`).join(' ')}]}}`;
}
