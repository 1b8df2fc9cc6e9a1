/** What is wrong with a list of CPUs such as `0-3,8`; undefined when it can be read. The empty text is the empty set. */
export function cpusetFault(text: string): string | undefined {
  if (text === '') return undefined;
  for (const part of text.split(',')) {
    const dash = part.indexOf('-');
    const ends = dash === -1 ? [part] : [part.slice(0, dash), part.slice(dash + 1)];
    if (!ends.every((end) => /^[+-]?\d{1,15}$/.test(end)))
      return `has the part ${JSON.stringify(part)}, which is neither a CPU number nor a range like 0-3`;
    const [first = 0, last = first] = ends.map(Number);
    if (first > last) return `has the range ${part}, whose end is before its start`;
  }
  return undefined;
}
