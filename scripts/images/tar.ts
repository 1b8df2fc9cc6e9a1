/** One entry of an archive. Folders above it are not made on their own. */
export type TarEntry =
  | { kind: 'folder'; name: string; mode: number }
  | { kind: 'file'; name: string; mode: number; data: Buffer }
  | { kind: 'link'; name: string; target: string };

const BLOCK = 512;
const TYPES = { folder: '5', file: '0', link: '2' } as const;

/**
 * A POSIX ustar archive, owned by root and dated 2024-01-01, so that equal entries give equal bytes. Names may have 100
 * bytes, and 155 more before a `/`, link targets 100; longer ones throw.
 */
export function tar(entries: readonly TarEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    parts.push(header(entry));
    if (entry.kind === 'file') parts.push(entry.data, Buffer.alloc((BLOCK - (entry.data.length % BLOCK)) % BLOCK));
  }
  parts.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(parts);
}

function header(entry: TarEntry): Buffer {
  const block = Buffer.alloc(BLOCK);
  const text = (value: string, at: number, length: number) => {
    if (Buffer.byteLength(value) > length) throw new Error(`too long for a tar header: ${value}`);
    block.write(value, at);
  };
  const octal = (value: number, at: number, length: number) => text(value.toString(8).padStart(length - 1, '0'), at, length - 1);
  const { prefix, name } = splitName(entry.kind === 'folder' ? `${entry.name}/` : entry.name);
  text(name, 0, 100);
  text(prefix, 345, 155);
  octal(entry.kind === 'link' ? 0o777 : entry.mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(entry.kind === 'file' ? entry.data.length : 0, 124, 12);
  octal(1_704_067_200, 136, 12);
  text(TYPES[entry.kind], 156, 1);
  if (entry.kind === 'link') text(entry.target, 157, 100);
  text('ustar\0', 257, 6);
  text('00', 263, 2);
  // The checksum is taken with its own field as blanks.
  block.fill(' ', 148, 156);
  const sum = block.reduce((n, byte) => n + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** A long name's first folders go into a field of their own. */
function splitName(name: string): { prefix: string; name: string } {
  if (Buffer.byteLength(name) <= 100) return { prefix: '', name };
  const at = name.indexOf('/', name.length - 101);
  return at < 0 ? { prefix: '', name } : { prefix: name.slice(0, at), name: name.slice(at + 1) };
}
