/** A float as Go's `%g` prints it (shortest form, exponent from 10^6 and below 10^-4 on). */
export function goFloat(n: number): string {
  if (Number.isNaN(n)) return 'NaN';
  if (!Number.isFinite(n)) return n > 0 ? '+Inf' : '-Inf';
  const match = /^(-?)([0-9])(?:\.([0-9]+))?e([+-])([0-9]+)$/.exec(n.toExponential());
  if (match === null) throw new Error(`no exponential form of ${n}`);
  const [, sign = '', lead = '', rest = '', exponentSign = '', exponentDigits = ''] = match;
  const exponent = Number(exponentSign + exponentDigits);
  if (exponent >= -4 && exponent < 6) return String(n);
  return `${sign}${lead}${rest === '' ? '' : `.${rest}`}e${exponentSign}${exponentDigits.padStart(2, '0')}`;
}
