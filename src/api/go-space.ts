/** What Go's unicode.IsSpace takes for blank; unlike `\s` it has U+0085 and not U+FEFF. */
const SPACE = '\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const LEADING = new RegExp(`^[${SPACE}]+`);
const TRAILING = new RegExp(`(?<![${SPACE}])[${SPACE}]+$`);
const BETWEEN = new RegExp(`[${SPACE}]+`);

/** Go's strings.TrimSpace. */
export function trimSpace(text: string): string {
  return text.replace(LEADING, '').replace(TRAILING, '');
}

/** Go's strings.Fields: the parts between blanks. */
export function fields(text: string): string[] {
  return text.split(BETWEEN).filter((part) => part !== '');
}
