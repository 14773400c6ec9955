/**
 * Returns a record's entry for a key that a user chose; undefined when there is none. Inherited properties such as `constructor` or `toString` are no
 * entries.
 */
export function entryOf<Value>(record: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined
}

/** Returns an empty record without a prototype, for keys that users chose: on any other, `__proto__` would not become an entry. */
export function emptyRecord<Value>(): Record<string, Value> {
  return Object.create(null) as Record<string, Value>
}
