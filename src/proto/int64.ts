/** A 64-bit integer as protobufjs hands it out: two signed 32-bit halves. */
export interface Int64 {
  low: number;
  high: number;
}

/** Exact; for times in nanoseconds. */
export function toBigInt(value: Int64): bigint {
  return (BigInt(value.high) << 32n) | BigInt(value.low >>> 0);
}

/** Rounded above 2^53; for sizes, counts and ids. */
export function toNumber(value: Int64): number {
  return value.high * 0x1_0000_0000 + (value.low >>> 0);
}

/** As `toNumber`, for uint64. */
export function toUnsigned(value: Int64): number {
  return (value.high >>> 0) * 0x1_0000_0000 + (value.low >>> 0);
}
