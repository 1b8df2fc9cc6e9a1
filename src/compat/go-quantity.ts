import { trimSpace } from '../api/go-space.ts';
import { Quantity } from '../api/quantity.ts';

/**
 * The inner form that Go's resource.Quantity takes after reading a text, which a printed pod shows: a 64-bit amount
 * `value × 10^scale`, or a big decimal `unscaled × 10^-scale`, and the text where it was canonical already.
 */
export interface GoQuantity {
  value: bigint;
  scale: number;
  dec: { unscaled: bigint; scale: number } | undefined;
  text: string;
  format: string;
}

const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const NANO = -9;
const MAX_INT64 = 2n ** 63n - 1n;

const abs = (n: bigint): bigint => (n < 0n ? -n : n);
const pow10 = (n: number): bigint => 10n ** BigInt(n);

/** A quantity that was never set. */
export const zeroGoQuantity: GoQuantity = { value: 0n, scale: 0, dec: undefined, text: '', format: '' };

/** Reads a quantity's text as Go does, blanks around it dropped. Throws QuantityError for text that is none. */
export function goQuantity(source: string): GoQuantity {
  const text = trimSpace(source);
  // Refuses what is no quantity, and bounds the exponent.
  Quantity.parse(text);
  if (text === '0') return { ...zeroGoQuantity, text, format: 'DecimalSI' };
  const [, sign = '', integer = '', fraction = '', suffix = ''] = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)$/.exec(text) ?? [];
  // A text of zeros alone is read as the number 0, without what follows a point.
  const whole = integer.replace(/^0+/, '') || '0';
  const shifted = whole + fraction;
  const negate = (n: bigint): bigint => (sign === '-' ? -n : n);
  const power = BINARY.indexOf(suffix);
  const binary = power < 0 ? 0 : (power + 1) * 10;
  const decimal = power >= 0 ? 0 : (DECIMAL[suffix] ?? Number(suffix.slice(1)));
  const format = power >= 0 ? 'BinarySI' : DECIMAL[suffix] !== undefined ? 'DecimalSI' : 'DecimalExponent';

  const room = power < 0 ? 18 - shifted.length : fraction === '' ? 15 - whole.length - Math.trunc((binary * 3) / 10) - 1 : -1;
  const scale = decimal - fraction.length;
  if (room >= 0 && scale >= NANO) {
    const amount = BigInt(shifted);
    const canonical = power >= 0 ? (amount & 7n) !== 0n : scale % 3 === 0 && !shifted.endsWith('000') && !shifted.startsWith('0');
    return { value: negate(amount << BigInt(binary)), scale, dec: undefined, text: canonical ? text : '', format };
  }
  const dec = roundDec({ unscaled: BigInt(shifted) << BigInt(binary), scale: fraction.length - decimal }, NANO);
  return bigQuantity(dec, format, negate);
}

function bigQuantity(dec: { unscaled: bigint; scale: number }, format: string, negate: (n: bigint) => bigint): GoQuantity {
  let { unscaled, scale } = dec;
  let kind = format;
  if (kind === 'BinarySI') {
    const unit = scale > 0 ? pow10(scale) : 1n;
    if (unscaled > MAX_INT64 * unit) [unscaled, scale] = [MAX_INT64, 0];
    if (unscaled > 0n && unscaled < unit) kind = 'DecimalSI';
  }
  return { value: 0n, scale: 0, dec: { unscaled: negate(unscaled), scale }, text: '', format: kind };
}

/** The same decimal with exactly `-exponent` places, rounded away from zero; zero keeps its places. */
function roundDec(dec: { unscaled: bigint; scale: number }, exponent: number): { unscaled: bigint; scale: number } {
  if (dec.unscaled === 0n) return dec;
  const places = -exponent;
  if (dec.scale <= places) return { unscaled: dec.unscaled * pow10(places - dec.scale), scale: places };
  return { unscaled: divideUp(dec.unscaled, pow10(dec.scale - places)), scale: places };
}

function divideUp(n: bigint, divisor: bigint): bigint {
  const quotient = n / divisor;
  if (quotient * divisor === n) return quotient;
  return n < 0n ? quotient - 1n : quotient + 1n;
}

/** API defaulting of a resource list: rounded up to thousandths. A text that was kept stays while nothing is rounded. */
export function roundUpToMilli(q: GoQuantity): GoQuantity {
  if (q.dec) {
    const milli = roundDecAny(q.dec);
    return { ...q, dec: milli, text: '' };
  }
  if (q.scale >= -3) return q;
  return { ...q, value: divideUp(q.value, pow10(-3 - q.scale)), scale: -3, text: '' };
}

/** Unlike reading, rounding a zero sets its places too. */
function roundDecAny(dec: { unscaled: bigint; scale: number }): { unscaled: bigint; scale: number } {
  return dec.unscaled === 0n ? { unscaled: 0n, scale: 3 } : roundDec(dec, -3);
}

/** The text that JSON shows for a quantity read from `source`; with `toMilli` after rounding up to thousandths. */
export function canonicalQuantity(source: string, toMilli: boolean): string {
  const q = Quantity.parse(trimSpace(source));
  return (toMilli ? q.roundUp(-3).quantity : q).toString();
}

/** As Go prints the struct in a value dump. */
export function dumpQuantity(q: GoQuantity): string {
  const amount = `i:(resource.int64Amount){value:(int64)${q.value} scale:(resource.Scale)${q.scale}}`;
  return `{${amount} d:(resource.infDecAmount){Dec:(*inf.Dec)${dumpDec(q.dec)}} s:(string)${q.text} Format:(resource.Format)${q.format}}`;
}

function dumpDec(dec: { unscaled: bigint; scale: number } | undefined): string {
  if (!dec) return '<nil>';
  const words: bigint[] = [];
  for (let rest = abs(dec.unscaled); rest > 0n; rest >>= 64n) words.push(BigInt.asUintN(64, rest));
  const digits = words.length > 0 ? `[${words.join(' ')}]` : '<nil>';
  return `{unscaled:(big.Int){neg:(bool)${dec.unscaled < 0n} abs:(big.nat)${digits}} scale:(inf.Scale)${dec.scale}}`;
}
