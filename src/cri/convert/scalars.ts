/** A 64-bit integer as protobufjs hands it out: two signed 32-bit halves. */
export interface Int64 {
  low: number;
  high: number;
}

/** Wrapped scalars of the protocol: null means absent, which is not zero. */
export type Int64Value = { value: Int64 } | null;

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

/** A wrapped uint64, undefined when absent. */
export function unwrapUnsigned(value: Int64Value): number | undefined {
  return value === null ? undefined : toUnsigned(value.value);
}

/** A number as the wrapped scalar of a request; undefined stays absent. */
export function wrap(value: number | undefined): { value: number } | undefined {
  return value === undefined ? undefined : { value };
}
