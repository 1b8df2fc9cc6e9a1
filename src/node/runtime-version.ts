/**
 * A runtime's version as the node shows it: a semantic version whole, of any other text the numbers in front
 * (`1.6.20~ds1` is 1.6.20). `Unknown` without them.
 */
export function shownVersion(text: string): string {
  const match = /^\s*v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,9})(.*)$/s.exec(text);
  const [, numbers = '', rest = ''] = match ?? [];
  const parts = numbers.split('.');
  if (numbers === '' || isPadded(parts[0] ?? '')) return 'Unknown';
  const extra = /^(-[0-9A-Za-z.-]{1,200})?(\+[0-9A-Za-z.-]{1,200})?\s*$/.exec(rest);
  if (extra === null || parts.length !== 3 || parts.some(isPadded)) return numbers;
  return `${numbers}${extra[1] ?? ''}${extra[2] ?? ''}`;
}

const isPadded = (part: string): boolean => part.length > 1 && part.startsWith('0');
