import { trimSpace } from './go-space.ts';

/**
 * resource.Quantity: an exact decimal number with the format it is printed in. Source: vectors quantity, API reference
 * "Quantity". Where the real one overflows 64 bits silently, ours stays exact in text and arithmetic, and saturates in
 * `value()` and its kin.
 */

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** Text that is no quantity. The message carries the text, so do not build one from a secret. */
export class QuantityError extends Error {
  readonly code = 'invalid-quantity';
  constructor(text: string, reason: string) {
    super(`invalid quantity ${JSON.stringify(text.slice(0, 80))}: ${reason}`);
    this.name = 'QuantityError';
  }
}

const DECIMAL_EXPONENTS = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const DECIMAL_SUFFIXES = new Map([...DECIMAL_EXPONENTS].map(([suffix, exponent]) => [exponent, suffix]));
const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const NANO = -9;
const EXA = 18;
const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
/** Beyond these, arithmetic could stall the event loop; the real one stalls too, or wraps its exponent at 32 bits. */
const MAX_EXPONENT = 10_000;
const MAX_LENGTH = 4096;

const abs = (n: bigint): bigint => (n < 0n ? -n : n);
const pow10 = (n: number): bigint => 10n ** BigInt(n);
const saturate = (n: bigint): bigint => (n > MAX_INT64 ? MAX_INT64 : n < MIN_INT64 ? MIN_INT64 : n);

/** Divides and rounds away from zero. */
function divideUp(n: bigint, divisor: bigint): bigint {
  const quotient = n / divisor;
  if (quotient * divisor === n) return quotient;
  return n < 0n ? quotient - 1n : quotient + 1n;
}

interface Suffix {
  format: QuantityFormat;
  /** Of ten, or of two in BinarySI. */
  exponent: number;
}

function parseSuffix(text: string, suffix: string): Suffix {
  if (!/^[eEinumkKMGTP]*[-+]?[0-9]*$/.test(suffix))
    throw new QuantityError(text, 'want a number and a suffix, as in 250m, 1.5, 64Mi or 1e3');
  const decimal = DECIMAL_EXPONENTS.get(suffix);
  if (decimal !== undefined) return { format: 'DecimalSI', exponent: decimal };
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) return { format: 'BinarySI', exponent: binary * 10 };
  if (!/^[eE][-+]?[0-9]+$/.test(suffix)) throw new QuantityError(text, `unknown suffix ${JSON.stringify(suffix)}`);
  const exponent = Number(suffix.slice(1));
  if (Math.abs(exponent) > MAX_EXPONENT) throw new QuantityError(text, `the exponent is beyond ±${MAX_EXPONENT}`);
  return { format: 'DecimalExponent', exponent };
}

/**
 * Digits that the real kubelet still reads into 64 bits; above, it uses big decimals. Visible from outside, because
 * only on that path a text that looks canonical is kept as it was written ("01", "1.500", "1e0").
 */
function fitsSmallForm(suffix: Suffix, whole: string, fraction: string): boolean {
  if (suffix.format !== 'BinarySI') return whole.length + fraction.length <= 18 && suffix.exponent - fraction.length >= NANO;
  return fraction === '' && 15 - whole.length - Math.trunc((suffix.exponent * 3) / 10) - 1 >= 0;
}

function isKeptAsWritten(suffix: Suffix, digits: string, exponent: number): boolean {
  if (suffix.format === 'BinarySI') return (BigInt(digits) & 7n) !== 0n;
  return exponent % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
}

export class Quantity {
  /** The number is mantissa × 10^exponent. */
  readonly #mantissa: bigint;
  readonly #exponent: number;
  readonly format: QuantityFormat;
  #text: string | undefined;

  private constructor(mantissa: bigint, exponent: number, format: QuantityFormat, text?: string) {
    this.#mantissa = mantissa;
    this.#exponent = exponent;
    this.format = format;
    this.#text = text;
  }

  static readonly zero = new Quantity(0n, 0, 'DecimalSI');

  /** Reads the text form. Precision finer than a nano is rounded away from zero. Throws QuantityError. */
  static parse(text: string): Quantity {
    if (text === '') throw new QuantityError(text, 'it is empty');
    if (text.length > MAX_LENGTH) throw new QuantityError(text, `it is longer than ${MAX_LENGTH} characters`);
    const match = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)$/s.exec(text);
    const [, sign = '', integer = '', fraction = '', tail = ''] = match ?? [];
    const suffix = parseSuffix(text, tail);
    const whole = integer.replace(/^0+/, '') || '0';
    const digits = whole + fraction;
    const negate = (n: bigint): bigint => (sign === '-' ? -n : n);

    if (fitsSmallForm(suffix, whole, fraction)) {
      const exponent = suffix.format === 'BinarySI' ? 0 : suffix.exponent - fraction.length;
      const unsigned = suffix.format === 'BinarySI' ? BigInt(digits) << BigInt(suffix.exponent) : BigInt(digits);
      return new Quantity(negate(unsigned), exponent, suffix.format, isKeptAsWritten(suffix, digits, exponent) ? text : undefined);
    }
    if (integer === '' && fraction === '') throw new QuantityError(text, 'it has no digit');
    return Quantity.#parseBig(suffix, BigInt(digits), fraction.length, negate);
  }

  static #parseBig(suffix: Suffix, digits: bigint, places: number, negate: (n: bigint) => bigint): Quantity {
    let { format } = suffix;
    const scaled = format === 'BinarySI' ? digits << BigInt(suffix.exponent) : digits;
    const shift = (format === 'BinarySI' ? 0 : suffix.exponent) - places - NANO;
    let nanos = shift >= 0 ? scaled * pow10(shift) : divideUp(scaled, pow10(-shift));
    if (format === 'BinarySI') {
      const limit = MAX_INT64 * pow10(-NANO);
      if (nanos > limit) nanos = limit;
      if (nanos > 0n && nanos < pow10(-NANO)) format = 'DecimalSI';
    }
    return new Quantity(negate(nanos), NANO, format);
  }

  /** Reads a JSON value: text (blanks around it are dropped), a number, or null for zero. Throws QuantityError. */
  static fromJson(value: unknown): Quantity {
    if (value === null) return Quantity.zero;
    if (typeof value === 'string') return Quantity.parse(trimSpace(value));
    if (typeof value === 'number' && Number.isFinite(value)) return Quantity.parse(String(value));
    throw new QuantityError(String(JSON.stringify(value)), 'want a text or a number');
  }

  /** An integral number. */
  static of(value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
    return new Quantity(BigInt(value), 0, format);
  }

  /** A number of thousandths. */
  static ofMilli(value: bigint | number, format: QuantityFormat = 'DecimalSI'): Quantity {
    return new Quantity(BigInt(value), -3, format);
  }

  /** The canonical text; a text that was canonical enough is given back as written. */
  toString(): string {
    this.#text ??= this.#canonical();
    return this.#text;
  }

  toJSON(): string {
    return this.toString();
  }

  #canonical(): string {
    if (this.#mantissa === 0n) return '0';
    if (this.format === 'BinarySI') {
      const { quantity, exact } = this.roundUp(0);
      const integer = quantity.#at(0);
      if (exact && abs(integer) >= 1024n) return canonicalBinary(integer);
    }
    return canonicalDecimal(this.#mantissa, this.#exponent, this.format === 'DecimalExponent');
  }

  /** The mantissa for an exponent that is not above this one's. */
  #at(exponent: number): bigint {
    return this.#mantissa * pow10(this.#exponent - exponent);
  }

  isZero(): boolean {
    return this.#mantissa === 0n;
  }

  sign(): -1 | 0 | 1 {
    return this.#mantissa > 0n ? 1 : this.#mantissa < 0n ? -1 : 0;
  }

  /** In units of 10^scale, rounded away from zero, saturated to 64 bits. */
  scaledValue(scale: number): bigint {
    const shift = this.#exponent - scale;
    return saturate(shift >= 0 ? this.#mantissa * pow10(shift) : divideUp(this.#mantissa, pow10(-shift)));
  }

  /** Rounded away from zero, saturated to 64 bits. */
  value(): bigint {
    return this.scaledValue(0);
  }

  /** Thousandths, rounded away from zero, saturated to 64 bits. */
  milliValue(): bigint {
    return this.scaledValue(-3);
  }

  /** Nearby floating-point number; ±Infinity when out of range. */
  approx(): number {
    const base = Number(this.#mantissa);
    return this.#exponent === 0 || base === 0 ? base : base * floatPow10(this.#exponent);
  }

  /** Rounds away from zero to a multiple of 10^scale. `exact` says that nothing was lost. */
  roundUp(scale: number): { quantity: Quantity; exact: boolean } {
    if (this.#exponent >= scale) return { quantity: this, exact: true };
    const divisor = pow10(scale - this.#exponent);
    const rounded = divideUp(this.#mantissa, divisor);
    return { quantity: new Quantity(rounded, scale, this.format), exact: rounded * divisor === this.#mantissa };
  }

  cmp(other: Quantity): -1 | 0 | 1 {
    const exponent = Math.min(this.#exponent, other.#exponent);
    const [a, b] = [this.#at(exponent), other.#at(exponent)];
    return a < b ? -1 : a > b ? 1 : 0;
  }

  equals(other: Quantity): boolean {
    return this.cmp(other) === 0;
  }

  /** The sum, in this one's format; in the other's when this is zero. */
  add(other: Quantity): Quantity {
    const exponent = Math.min(this.#exponent, other.#exponent);
    return new Quantity(this.#at(exponent) + other.#at(exponent), exponent, this.isZero() ? other.format : this.format);
  }

  /** The difference, in this one's format; in the other's when this is zero. */
  sub(other: Quantity): Quantity {
    return this.add(other.neg());
  }

  neg(): Quantity {
    return new Quantity(-this.#mantissa, this.#exponent, this.format);
  }

  /** The product with an integer. */
  times(factor: bigint | number): Quantity {
    return new Quantity(this.#mantissa * BigInt(factor), this.#exponent, this.format);
  }

  static max(a: Quantity, b: Quantity): Quantity {
    return a.cmp(b) >= 0 ? a : b;
  }
}

function canonicalBinary(integer: bigint): string {
  // The least 64-bit number has no positive twin, and the real one leaves it unreduced.
  if (integer === MIN_INT64) return integer.toString();
  let power = 0;
  while (power < BINARY_SUFFIXES.length - 1 && integer % 1024n === 0n) {
    integer /= 1024n;
    power += 1;
  }
  return `${integer}${BINARY_SUFFIXES[power]}`;
}

function canonicalDecimal(mantissa: bigint, exponent: number, asExponent: boolean): string {
  while (mantissa % 10n === 0n) {
    mantissa /= 10n;
    exponent += 1;
  }
  let rounded = Math.floor(exponent / 3) * 3;
  if (!asExponent) rounded = Math.min(rounded, EXA);
  const number = mantissa * pow10(exponent - rounded);
  if (asExponent) return rounded === 0 ? `${number}` : `${number}e${rounded}`;
  return `${number}${DECIMAL_SUFFIXES.get(rounded) ?? `e${rounded}`}`;
}

/** 10^n rounded as Go's math.Pow10 rounds it: in steps of 32 powers. */
function floatPow10(n: number): number {
  if (n > 308) return Number.POSITIVE_INFINITY;
  if (n < -323) return 0;
  const m = Math.abs(n);
  const low = Number(`1e${m % 32}`);
  const high = Number(`1e${n < 0 ? '-' : ''}${m - (m % 32)}`);
  return n < 0 ? high / low : high * low;
}
