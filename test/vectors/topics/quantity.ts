import { Quantity, type QuantityFormat } from '../../../src/api/quantity.ts';
import { type Checker, classOf, excepted, expectSame, fail, isCrash, type VectorCase } from '../checker.ts';
import { goFloat } from '../go-float.ts';

const BEYOND_INT64 = 'beyond 64 bits the real Value, MilliValue and ScaledValue wrap or give 0; ours saturate';
const BEYOND_EXA = 'the real canonical text loses the scale of decimal numbers above E and binary ones above Ei (1000E prints as 1)';
const NEGATIVE_FRACTION = 'a negative fraction in the real big-decimal form is truncated and then raised by 1; ours rounds away from zero';
const ZERO_TIMES_INFINITY = 'the real float of a zero with a huge exponent is NaN; ours is 0';
const HUGE_EXPONENT = 'exponents beyond ±10000 stall the real one or wrap at 32 bits; ours refuses them';

const MAX = 2n ** 63n - 1n;
const MIN = -(2n ** 63n);

function parseOutput(q: Quantity): Record<string, unknown> {
  return {
    string: q.toString(),
    format: q.format,
    value: q.value(),
    milliValue: q.milliValue(),
    approx: goFloat(q.approx()),
    sign: q.sign(),
    isZero: q.isZero(),
    json: JSON.stringify(q),
  };
}

/** Puts the real one's number in place of ours where a rule says that the real one is wrong there. */
function scaledByRule(q: Quantity, scale: number, want: unknown, reasons: Set<string>): unknown {
  const ours = q.scaledValue(scale);
  if (typeof want !== 'string' || want === ours.toString()) return ours;
  const nano = q.scaledValue(-9);
  if (ours === MAX || ours === MIN || (q.sign() < 0 && (nano === MAX || nano === MIN))) {
    reasons.add(BEYOND_INT64);
    return want;
  }
  if (q.sign() < 0 && !q.roundUp(scale).exact && BigInt(want) === ours + 2n) {
    reasons.add(NEGATIVE_FRACTION);
    return want;
  }
  return ours;
}

/** What is left of a canonical text when its suffix is lost, as the real one prints it beyond the greatest suffix. */
function withoutScale(text: string): string | undefined {
  const [, number = '', suffix = ''] = /^(-?[0-9]+)(E|Ei)$/.exec(text) ?? [];
  if (suffix === '') return undefined;
  const base = suffix === 'E' ? 1000n : 1024n;
  let rest = BigInt(number);
  if (rest % base !== 0n) return undefined;
  while (rest % base === 0n) rest /= base;
  return rest.toString();
}

function textByRule(q: Quantity, want: unknown, reasons: Set<string>): unknown {
  const ours = q.toString();
  if (want === ours || withoutScale(ours) !== want) return ours;
  reasons.add(BEYOND_EXA);
  return want;
}

async function checkWith(c: VectorCase, run: (out: Record<string, unknown>, reasons: Set<string>) => Record<string, unknown>) {
  const reasons = new Set<string>();
  const verdict = await expectSame(c, () => run((c.out ?? {}) as Record<string, unknown>, reasons));
  return verdict.verdict === 'pass' && reasons.size > 0 ? excepted([...reasons].join('; ')) : verdict;
}

const byClass = new Map<string, Checker>([
  [
    'arith',
    (c) =>
      checkWith(c, (out, reasons) => {
        const [a, b] = [Quantity.parse(String(c.in['a'])), Quantity.parse(String(c.in['b']))];
        const [sum, diff] = [a.add(b), a.sub(b)];
        return {
          cmp: a.cmp(b),
          equal: a.equals(b),
          sum: textByRule(sum, out['sum'], reasons),
          sumFormat: sum.format,
          diff: textByRule(diff, out['diff'], reasons),
          diffFormat: diff.format,
        };
      }),
  ],
  [
    'scale',
    (c) =>
      checkWith(c, (out, reasons) => {
        const q = Quantity.parse(String(c.in['text']));
        const scale = Number(c.in['scale']);
        const { quantity, exact } = q.roundUp(scale);
        return {
          afterRoundUp: textByRule(quantity, out['afterRoundUp'], reasons),
          roundUpWasExact: exact,
          scaledValue: scaledByRule(q, scale, out['scaledValue'], reasons),
        };
      }),
  ],
  [
    'new',
    (c) =>
      checkWith(c, (out, reasons) => {
        const value = BigInt(String(c.in['value']));
        const format = c.in['format'] as QuantityFormat;
        return {
          newQuantity: textByRule(Quantity.of(value, format), out['newQuantity'], reasons),
          newMilliQuantity: textByRule(Quantity.ofMilli(value, format), out['newMilliQuantity'], reasons),
        };
      }),
  ],
]);

const checkParse: Checker = (c) => {
  const text = String(c.in['text']);
  const exponent = /[eE]([-+]?[0-9]+)$/.exec(text)?.[1];
  if (c.out !== undefined && exponent !== undefined && Math.abs(Number(exponent)) > 10_000) {
    try {
      return fail(`${text} is read as ${Quantity.parse(text)}`);
    } catch (error) {
      return isCrash(error) ? fail(String(error)) : excepted(HUGE_EXPONENT);
    }
  }
  return checkWith(c, (out, reasons) => {
    const q = Quantity.parse(text);
    const got = parseOutput(q);
    got['value'] = scaledByRule(q, 0, out['value'], reasons);
    got['milliValue'] = scaledByRule(q, -3, out['milliValue'], reasons);
    got['string'] = textByRule(q, out['string'], reasons);
    got['json'] = JSON.stringify(got['string']);
    if (q.isZero() && out['approx'] === 'NaN') {
      reasons.add(ZERO_TIMES_INFINITY);
      got['approx'] = 'NaN';
    }
    return got;
  });
};

export const check: Checker = (c) => (byClass.get(classOf(c)) ?? checkParse)(c);
