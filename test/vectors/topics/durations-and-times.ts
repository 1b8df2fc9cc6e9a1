import { durationFromJson, formatDuration } from '../../../src/api/duration.ts';
import {
  formatRfc3339Nano,
  formatTime,
  microTimeFromJson,
  microTimeToJson,
  timeFromJson,
  timeToJson,
  ZERO_TIME,
} from '../../../src/api/time.ts';
import { type Checker, classOf, expectSame, fail } from '../checker.ts';

const SECOND = 1_000_000_000n;

/** Raw JSON text to a value; text that is no JSON is refused. */
function json(raw: unknown): unknown {
  return JSON.parse(String(raw));
}

function instant(t: bigint, text: string | null): unknown {
  const isZero = t === ZERO_TIME;
  if (isZero) return { isZero, json: JSON.stringify(text) };
  const nsec = ((t % SECOND) + SECOND) % SECOND;
  return { isZero, json: JSON.stringify(text), nsec: Number(nsec), unix: ((t - nsec) / SECOND).toString() };
}

const classes = new Map<string, (input: Record<string, unknown>) => unknown>([
  [
    'duration',
    (input) => {
      const ns = durationFromJson(json(input['json']));
      const string = formatDuration(ns);
      return { ns, string, json: JSON.stringify(string) };
    },
  ],
  ['format', (input) => ({ string: formatDuration(BigInt(String(input['ns']))) })],
  [
    'time',
    (input) => {
      const t = timeFromJson(json(input['json']));
      return instant(t, timeToJson(t));
    },
  ],
  [
    'microtime',
    (input) => {
      const t = microTimeFromJson(json(input['json']));
      return instant(t, microTimeToJson(t));
    },
  ],
  [
    'time-format',
    (input) => {
      const t = BigInt(String(input['unixSec'])) * SECOND + BigInt(String(input['nsec']));
      return {
        time: JSON.stringify(timeToJson(t)),
        microTime: JSON.stringify(microTimeToJson(t)),
        rfc3339: formatTime(t),
        rfc3339Nano: formatRfc3339Nano(t),
      };
    },
  ],
]);

export const check: Checker = (c) => {
  const run = classes.get(classOf(c));
  return run === undefined ? fail(`unknown class ${classOf(c)}`) : expectSame(c, () => run(c.in));
};
