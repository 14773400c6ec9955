/**
 * One field of a protobuf message in its JSON form. `json` is its JSON name where that is not the table's name in camel case. Readers and writers of
 * a configuration need not distinguish an absent field from its zero value.
 */
export type Field =
  | { readonly kind: 'string' | 'bool' | 'int32' | 'int64' | 'double'; readonly json?: string }
  | { readonly kind: 'enum'; readonly names: readonly string[]; readonly json?: string }
  | { readonly kind: 'message'; readonly fields: Fields; readonly json?: string }
  | { readonly kind: 'list' | 'map'; readonly of: Field; readonly json?: string }

/** The fields of a message by their names in the protocol, in snake case. */
export interface Fields {
  readonly [name: string]: Field
}

/** The TypeScript type of a field. */
type Value<F> = F extends { readonly kind: 'string' }
  ? string
  : F extends { readonly kind: 'bool' }
    ? boolean
    : F extends { readonly kind: 'int32' | 'int64' | 'double' }
      ? number
      : F extends { readonly kind: 'enum'; readonly names: readonly (infer Name)[] }
        ? Name
        : F extends { readonly kind: 'message'; readonly fields: infer Inner }
          ? Message<Inner>
          : F extends { readonly kind: 'list'; readonly of: infer Item }
            ? readonly Value<Item>[]
            : F extends { readonly kind: 'map'; readonly of: infer Item }
              ? Readonly<Record<string, Value<Item>>>
              : never

/** The TypeScript type of a message; every field may be absent. */
export type Message<F> = { readonly [Name in keyof F]?: Value<F[Name]> }

export const string = { kind: 'string' } as const
export const bool = { kind: 'bool' } as const
export const int32 = { kind: 'int32' } as const
export const int64 = { kind: 'int64' } as const
export const double = { kind: 'double' } as const

export function oneOf<const Names extends readonly string[]>(
  ...names: Names
): { readonly kind: 'enum'; readonly names: Names } {
  return { kind: 'enum', names }
}

export function message<const Inner extends Fields>(
  fields: Inner,
): { readonly kind: 'message'; readonly fields: Inner } {
  return { kind: 'message', fields }
}

export function list<const Item extends Field>(of: Item): { readonly kind: 'list'; readonly of: Item } {
  return { kind: 'list', of }
}

export function map<const Item extends Field>(of: Item): { readonly kind: 'map'; readonly of: Item } {
  return { kind: 'map', of }
}

/** Returns the same field under its own JSON name. */
export function named<const Of extends Field>(json: string, field: Of): Of & { readonly json: string } {
  return { ...field, json }
}

/** Returns a field's JSON name: the given one, else its own in camel case. */
export function jsonName(name: string, field: Field): string {
  return field.json ?? name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
