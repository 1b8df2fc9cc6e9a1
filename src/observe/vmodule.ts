export interface VmoduleItem {
  filePattern: string;
  verbosity: number;
}

/** `*` stands for any text within a name, `?` for one character; a pattern with a slash is for the path's end. */
function matches(pattern: string, text: string): boolean {
  // Iterative, so that no pattern can take more than linear time in practice.
  let p = 0;
  let t = 0;
  let star = -1;
  let from = 0;
  while (t < text.length) {
    if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p += 1;
      t += 1;
    } else if (pattern[p] === '*') {
      star = p;
      from = t;
      p += 1;
    } else if (star !== -1) {
      p = star + 1;
      from += 1;
      t = from;
    } else return false;
  }
  while (pattern[p] === '*') p += 1;
  return p === pattern.length;
}

/** The level of a source file by the first pattern that fits; undefined when none does. Extensions do not count. */
export function vmoduleLevel(items: readonly VmoduleItem[], shortPath: string): number | undefined {
  const path = shortPath.replace(/\.[mc]?[jt]s$/, '');
  const name = path.slice(path.lastIndexOf('/') + 1);
  return items.find((item) => matches(item.filePattern, item.filePattern.includes('/') ? path : name))?.verbosity;
}
