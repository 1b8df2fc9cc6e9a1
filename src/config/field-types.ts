/** The types of the configuration's values. `value` types with Go's zero count as unset, `pointer` ones only when absent. */
export type FieldType =
  | { t: 'bool' }
  | { t: 'int'; bits: 32 | 64; unsigned?: true }
  | { t: 'float' }
  | { t: 'string' }
  /** Text such as `1m30s`. */
  | { t: 'duration' }
  /** A duration as text, or as a number of nanoseconds. */
  | { t: 'durationOrNanos' }
  | { t: 'quantity' }
  /** RFC 3339. */
  | { t: 'time' }
  | { t: 'list'; of: FieldType }
  | { t: 'map'; of: FieldType }
  | { t: 'struct'; fields: Record<string, SubField> };

export interface SubField {
  type: FieldType;
  /** Written even when it is zero. */
  always?: true;
  /** Absent and zero are two things. */
  pointer?: true;
}

export const bool: FieldType = { t: 'bool' };
export const int32: FieldType = { t: 'int', bits: 32 };
export const int64: FieldType = { t: 'int', bits: 64 };
export const uint32: FieldType = { t: 'int', bits: 32, unsigned: true };
export const float: FieldType = { t: 'float' };
export const string: FieldType = { t: 'string' };
export const duration: FieldType = { t: 'duration' };
export const durationOrNanos: FieldType = { t: 'durationOrNanos' };
export const quantity: FieldType = { t: 'quantity' };
export const time: FieldType = { t: 'time' };
export const list = (of: FieldType): FieldType => ({ t: 'list', of });
export const map = (of: FieldType): FieldType => ({ t: 'map', of });
export const struct = (fields: Record<string, SubField>): FieldType => ({ t: 'struct', fields });

/** How messages and the documentation name a type. */
export function typeName(type: FieldType): string {
  switch (type.t) {
    case 'bool':
      return 'boolean';
    case 'int':
      return `${type.unsigned ? 'unsigned ' : ''}whole number of ${type.bits} bits`;
    case 'float':
      return 'number';
    case 'string':
      return 'text';
    case 'duration':
      return 'duration';
    case 'durationOrNanos':
      return 'duration or number of nanoseconds';
    case 'quantity':
      return 'quantity';
    case 'time':
      return 'RFC 3339 time';
    case 'list':
      return `list of ${typeName(type.of)}`;
    case 'map':
      return `map of ${typeName(type.of)}`;
    case 'struct':
      return `object with ${Object.keys(type.fields).join(', ')}`;
  }
}
