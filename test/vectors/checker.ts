/**
 * What a topic file (`topics/<topic>.ts`) exports: `export const check: Checker`. A topic is covered as soon as its
 * file exists; there is no table to edit.
 */
export interface VectorCase {
  name: string;
  in: Record<string, unknown>;
  /** What the real function returned. Absent when it refused. */
  out?: unknown;
  /** The real function's error text. Ours is worded differently: what counts is that we refuse too. */
  error?: string;
}

export type Verdict = { verdict: 'pass' } | { verdict: 'fail'; diff: string } | { verdict: 'excepted'; reason: string };

export type Checker = (c: VectorCase) => Verdict | Promise<Verdict>;

export const pass: Verdict = { verdict: 'pass' };
export const fail = (diff: string): Verdict => ({ verdict: 'fail', diff });
export const excepted = (reason: string): Verdict => ({ verdict: 'excepted', reason });

/** The case's class: its name up to the first slash. */
export function classOf(c: VectorCase): string {
  return c.name.split('/', 1)[0] ?? '';
}

/** JSON form of a value: bigints become decimal text, keys that are undefined go away. */
export function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return value.map(plain);
  if (value !== null && typeof value === 'object') {
    const entries = value instanceof Map ? [...value] : Object.entries(value);
    return Object.fromEntries(entries.filter(([, v]) => v !== undefined).map(([k, v]) => [String(k), plain(v)]));
  }
  return value;
}

const isObject = (v: unknown): v is Record<string, unknown> => v !== null && typeof v === 'object' && !Array.isArray(v);
const show = (v: unknown): string => (v === undefined ? '(absent)' : JSON.stringify(v)).slice(0, 300);

/** Every path at which two plain values differ, as `path: want X, got Y`. Empty when they are equal. */
export function differences(want: unknown, got: unknown, path = 'out'): string[] {
  if (Array.isArray(want) && Array.isArray(got)) {
    const found = want.length === got.length ? [] : [`${path}: want ${want.length} items, got ${got.length}: ${show(got)}`];
    return found.concat(want.slice(0, got.length).flatMap((item, i) => differences(item, got[i], `${path}[${i}]`)));
  }
  if (isObject(want) && isObject(got)) {
    const keys = new Set([...Object.keys(want), ...Object.keys(got)]);
    return [...keys].flatMap((key) => {
      const has = (o: Record<string, unknown>) => (Object.hasOwn(o, key) ? o[key] : undefined);
      return differences(has(want), has(got), `${path}.${key}`);
    });
  }
  return Object.is(want, got) || (want === 0 && got === 0) ? [] : [`${path}: want ${show(want)}, got ${show(got)}`];
}

/** Compares with the recorded output. */
export function sameOutput(c: VectorCase, got: unknown): Verdict {
  if (c.out === undefined) return fail(`want a refusal (${c.error}), got ${show(plain(got))}`);
  const found = differences(c.out, plain(got));
  return found.length === 0 ? pass : fail(found.slice(0, 4).join('; '));
}

/** An error that is a bug of ours and not a refusal. */
export function isCrash(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError || !(error instanceof Error);
}

/** The usual shape of a check: run, then compare the output, or the refusal where the real function refused. */
export async function expectSame(c: VectorCase, run: () => unknown): Promise<Verdict> {
  let got: unknown;
  try {
    got = await run();
  } catch (error) {
    if (isCrash(error)) return fail(`crashed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    if (c.out !== undefined) return fail(`want ${show(c.out)}, got the refusal ${JSON.stringify(String(error))}`);
    return pass;
  }
  return sameOutput(c, got);
}
