/** Writes DER (ITU-T X.690), as far as certificates and certificate requests need it. */

/** Tag, length and content. */
export function tlv(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length: number[] = [];
  for (let n = body.length; n > 0; n = Math.floor(n / 256)) length.unshift(n % 256);
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length, ...length]), body]);
}

export const sequence = (...content: readonly Buffer[]) => tlv(0x30, ...content);
export const set = (...content: readonly Buffer[]) => tlv(0x31, ...content);
export const octetString = (content: Buffer) => tlv(0x04, content);
export const bitString = (content: Buffer, unusedBits = 0) => tlv(0x03, Buffer.from([unusedBits]), content);
export const utf8String = (text: string) => tlv(0x0c, Buffer.from(text));
export const boolean = (value: boolean) => tlv(0x01, Buffer.from([value ? 0xff : 0]));
export const nothing = () => tlv(0x05);

/** An unsigned integer from its bytes. */
export function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const rest = bytes.subarray(start);
  return tlv(0x02, ...((rest[0] ?? 0) >= 0x80 ? [Buffer.from([0])] : []), rest);
}

/** `[n]` with other types inside. */
export const explicit = (n: number, ...content: readonly Buffer[]) => tlv(0xa0 | n, ...content);
/** `[n]` in place of the tag of a set. */
export const implicitSet = (n: number, ...content: readonly Buffer[]) => tlv(0xa0 | n, ...content);
/** `[n]` in place of the tag of a primitive type. */
export const implicit = (n: number, content: Buffer) => tlv(0x80 | n, content);

/** An object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let n = arc >>> 7; n > 0; n >>>= 7) groups.unshift((n & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tlv(0x06, Buffer.from(bytes));
}

/** A time in whole seconds: UTCTime until 2049, GeneralizedTime from then on (RFC 5280 §4.1.2.5). */
export function time(ms: number): Buffer {
  const text = `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
  const year = Number(text.slice(0, 4));
  return year < 2050 ? tlv(0x17, Buffer.from(text.slice(2))) : tlv(0x18, Buffer.from(text));
}

/** PEM of one DER value. */
export function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
