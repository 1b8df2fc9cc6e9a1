import type { Pod } from '../types.ts';
import type { FieldFault } from './field-fault.ts';

/** Create validation. */
export function validatePod(_pod: Pod): FieldFault[] {
  return [];
}
