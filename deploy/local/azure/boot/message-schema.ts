type Scalar = 'string' | 'bool' | 'int32' | 'int64' | 'double'

/**
 * Type of a field. `?` marks explicit presence: absent differs from zero. A list of texts is an enumeration's names;
 * `*` as the only field of a message makes it a map of messages.
 */
export type FieldType = Scalar | `${Scalar}?` | 'string[]' | 'string{}' | 'bool{}' | readonly string[] | Message

export interface Message {
  readonly [field: string]: FieldType
}
