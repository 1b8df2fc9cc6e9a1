import { type Int64, toUnsigned } from '../../proto/int64.ts';

/** Wrapped scalars of the protocol: null means absent, which is not zero. */
export type Int64Value = { value: Int64 } | null;

/** A wrapped uint64, undefined when absent. */
export function unwrapUnsigned(value: Int64Value): number | undefined {
  return value === null ? undefined : toUnsigned(value.value);
}

/** A number as the wrapped scalar of a request; undefined stays absent. */
export function wrap(value: number | undefined): { value: number } | undefined {
  return value === undefined ? undefined : { value };
}
