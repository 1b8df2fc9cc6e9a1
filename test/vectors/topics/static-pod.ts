import { ConfigSeenAnnotation } from '../../../src/api/annotations.ts';
import type { Pod } from '../../../src/api/types.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { silentLogger } from '../../../src/observe/log.ts';
import { ManifestDir } from '../../../src/sources/manifest-dir.ts';
import type { ManifestFault } from '../../../src/sources/manifest-error.ts';
import { readManifest } from '../../../src/sources/parse-pod.ts';
import type { ManifestOrigin } from '../../../src/sources/static-pod.ts';
import type { PodSet } from '../../../src/sources/types.ts';
import { MemoryManifests } from '../../support/memoryManifests.ts';
import { type Checker, classOf, excepted, expectSame, fail, pass, plain, sameOutput, type VectorCase, type Verdict } from '../checker.ts';

const DUPLICATE_KEY = 'of a key that is given twice the real one takes the last value; ours refuses the manifest (DECISIONS: YAML)';

class Refused extends Error {
  readonly faults: ManifestFault[];
  constructor(faults: ManifestFault[]) {
    super(faults.map(({ field = '', problem }) => `${field}: ${problem}`).join('; '));
    this.faults = faults;
  }
}

function originOf(c: VectorCase): ManifestOrigin {
  return { kind: 'file', location: String(c.in['path']), nodeName: String(c.in['nodeName']) };
}

/** The UID stands for the hashed text, so that needs no comparison of its own. */
function wantedPod(c: VectorCase): VectorCase {
  return c.out === undefined ? c : { ...c, out: { pod: (c.out as { pod: unknown }).pod } };
}

async function checkFile(c: VectorCase): Promise<Verdict> {
  const manifest = String(c.in['manifest']);
  let faults: ManifestFault[] = [];
  const verdict = await expectSame(wantedPod(c), () => {
    const read = readManifest(manifest, originOf(c));
    faults = read.faults;
    if (faults.length > 0) throw new Refused(faults);
    return { pod: read.pods[0] };
  });
  if (verdict.verdict === 'pass') return c.error === undefined ? pass : sameFields(c.error, faults);
  if (faults[0]?.code !== 'duplicate-key' || c.out === undefined) return verdict;
  const [pod] = readManifest(manifest, originOf(c), 'last').pods;
  const real = sameOutput(wantedPod(c), { pod });
  return real.verdict === 'pass' ? excepted(DUPLICATE_KEY) : real;
}

const LISTED =
  /(?:^invalid pod: \[| )((?:metadata|spec|status)(?:\.\{[^}]*\}|\.[\w./-]+|\[[^\]]*\])*): (?:Invalid|Required|Forbidden|Duplicate|Not found|Unsupported|Too)/g;
const EMBEDDED = /\b(?:VolumeSource|LocalObjectReference|ProbeHandler|EphemeralContainerCommon)\./g;
const TYPED = /cannot unmarshal .* into Go struct field \w+\.([\w.]+) of type/;

/** Where the recorded error names fields, ours names the same ones, and each as often. */
function sameFields(error: string, faults: readonly ManifestFault[]): Verdict {
  const typed = TYPED.exec(error)?.[1];
  if (typed !== undefined) {
    // Go leaves list indexes out and puts embedded structs in.
    const [ours = ''] = faults.map(({ field = '' }) => field.replace(/\[\d+\]/g, ''));
    const theirs = typed.replace(EMBEDDED, '');
    return ours === theirs || ours.startsWith(`${theirs}.`) ? pass : fail(`want the field ${typed}, got ${ours}`);
  }
  if (!error.startsWith('invalid pod: [')) return faults.length === 1 ? pass : fail(`want one fault, got ${faults.length}`);
  const theirs = [...error.matchAll(LISTED)].map((match) => match[1] ?? '').sort();
  const ours = faults.map(({ field = '' }) => field).sort();
  return theirs.join(' ') === ours.join(' ') ? pass : fail(`want faults of ${theirs.join(', ')}; got ${ours.join(', ')}`);
}

interface Listing {
  set: PodSet;
  infos: string[];
}

/** The first set of a directory that holds the case's files. */
async function list(c: VectorCase): Promise<Listing> {
  const path = String(c.in['path']);
  const infos: string[] = [];
  const log = { ...silentLogger, info: (message: string) => void infos.push(message) };
  const fs = new MemoryManifests(path, c.in['files'] as Record<string, string>);
  const dir = new ManifestDir({ path, nodeName: String(c.in['nodeName']), fileCheckFrequencyMs: 1000, clock: systemClock, log, fs });
  const stop = new AbortController();
  for await (const set of dir.sets(stop.signal)) {
    stop.abort();
    return { set, infos };
  }
  throw new Error('the directory gave no set');
}

const count = (lines: unknown): number => (Array.isArray(lines) ? lines.length : 0);

async function checkDirectory(c: VectorCase): Promise<Verdict> {
  const { set, infos } = await list(c);
  const out = c.out as { updates: string[][]; errors: string[] | null; infos: string[] | null };
  const files = new Set(set.errors.map((error) => error.file));
  if (files.size !== count(out.errors)) return fail(`want ${count(out.errors)} bad files, got ${[...files].join(', ')}`);
  for (const line of out.errors ?? []) {
    const named = /: (\/[^:]*): /.exec(line)?.[1];
    if (named !== undefined && !files.has(named)) return fail(`want an error of ${named}, got ${[...files].join(', ')}`);
  }
  if (infos.length !== count(out.infos)) return fail(`want ${count(out.infos)} remarks, got ${infos.join('; ')}`);
  const pods = set.pods.map(({ metadata: { namespace, name, uid } }) => `${namespace}/${name} ${uid}`).sort();
  return sameOutput({ ...c, out: { updates: out.updates } }, { updates: [pods] });
}

async function checkConfig(c: VectorCase): Promise<Verdict> {
  const { set } = await list(c);
  return sameOutput(c, { updates: [{ op: 0, source: 'file', pods: set.pods.map(withoutTime) }] });
}

/** The recorded times are replaced; ours must be one. */
function withoutTime(pod: Pod): unknown {
  const copy = plain(pod) as Pod;
  const { annotations = {} } = copy.metadata;
  if (!Number.isNaN(Date.parse(annotations[ConfigSeenAnnotation] ?? ''))) annotations[ConfigSeenAnnotation] = '<time>';
  return copy;
}

const classes = new Map<string, Checker>([
  ['accepted', checkFile],
  ['rejected', checkFile],
  ['dir', checkDirectory],
  ['podconfig', checkConfig],
]);

/** A case of a class that we do not know is told by what it holds. */
export const check: Checker = (c) => {
  const known = classes.get(classOf(c));
  if (known) return known(c);
  if (typeof c.in['manifest'] === 'string') return checkFile(c);
  return fail(`unknown class ${classOf(c)}`);
};
