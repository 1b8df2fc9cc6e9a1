/** What an unquoted YAML scalar can mean. Whole numbers are bigints, so that no digit is lost. */
export type ScalarValue = string | boolean | null | bigint | number;

const words = new Map<string, ScalarValue>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((w) => [w, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((w) => [w, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((w) => [w, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((w) => [w, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((w) => [w, Number.POSITIVE_INFINITY] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((w) => [w, Number.NEGATIVE_INFINITY] as const),
]);

const date = /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt ]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d{1,9})?(?:Z|[-+]\d{2}:\d{2})?)?$/;
const decimal = /^[-+]?(?:0|[1-9]\d*)$/;
const octal = /^[-+]?0o?[0-7]+$/;
const hexadecimal = /^[-+]?0[xX][0-9a-fA-F]+$/;
const binary = /^[-+]?0[bB][01]+$/;
const float = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;

const minInt64 = -(2n ** 63n);
const maxUint64 = 2n ** 64n - 1n;

function wholeNumber(text: string): bigint | undefined {
  const sign = text.startsWith('-') ? -1n : 1n;
  const digits = text.replace(/^[-+]/, '');
  let value: bigint;
  if (decimal.test(text)) value = BigInt(digits);
  else if (hexadecimal.test(text) || binary.test(text)) value = BigInt(digits.toLowerCase());
  else if (octal.test(text)) value = BigInt(`0o${digits.replace(/^0o?/, '') || '0'}`);
  else return undefined;
  value *= sign;
  return value >= minInt64 && value <= maxUint64 ? value : undefined;
}

/**
 * The value of an unquoted scalar as Kubernetes' YAML 1.1 reader sees it: `yes`, `on` and `y` are booleans, `010` is
 * eight, underscores in numbers are ignored, `1:30` and dates stay text.
 */
export function plainScalar(text: string): ScalarValue {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.\d]/.test(text) || date.test(text)) return text;
  if (text.startsWith('.')) return float.test(text) ? Number(text) : text;
  const digits = text.replaceAll('_', '');
  const whole = wholeNumber(digits);
  if (whole !== undefined) return whole;
  if (float.test(digits)) return Number(digits);
  return text;
}
