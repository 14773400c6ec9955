/**
 * Returns what a record holds under a key that a user chose; undefined: nothing. What every object inherits under names such as `constructor`
 * or `toString` is no entry of it.
 */
export function entryOf<Value>(record: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
}

/** An empty record without a prototype, to be filled under keys that users chose: on any other, `__proto__` would not become an entry. */
export function emptyRecord<Value>(): Record<string, Value> {
  return Object.create(null) as Record<string, Value>
}
