/** Larger than any object that fits into etcd, with its JSON form blown up by escapes. */
export const MaxLineBytes = 32 * 1024 * 1024;

/**
 * The lines of a stream of bytes, without their ends, as text; chunks may break anywhere, also inside a character. What
 * stands after the last line end comes last, with `complete` false: whether the stream was cut there only its text can
 * tell. Empty lines are left out. Throws RangeError for a line over `maxBytes`.
 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = MaxLineBytes,
): AsyncGenerator<{ text: string; complete: boolean }> {
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, from);
      const piece = chunk.subarray(from, end < 0 ? chunk.length : end);
      size += piece.length;
      if (size > maxBytes) throw new RangeError(`a line of more than ${maxBytes} bytes`);
      if (end < 0) {
        if (piece.length > 0) parts.push(piece);
        break;
      }
      if (size > 0) yield { text: joined(parts, piece), complete: true };
      parts = [];
      size = 0;
      from = end + 1;
    }
  }
  if (size > 0) yield { text: joined(parts, new Uint8Array()), complete: false };
}

function joined(parts: readonly Uint8Array[], last: Uint8Array): string {
  if (parts.length === 0) return Buffer.from(last.buffer, last.byteOffset, last.byteLength).toString('utf8');
  return Buffer.concat([...parts, last]).toString('utf8');
}
