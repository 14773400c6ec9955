export interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly [word: string]: unknown
}

interface Version {
  readonly name: string
  readonly storage: boolean
  readonly schema: { readonly openAPIV3Schema: Schema }
  readonly additionalPrinterColumns?: readonly Column[]
  readonly deprecationWarning?: string
  readonly [word: string]: unknown
}

interface Column {
  readonly name: string
  readonly type: string
  readonly jsonPath: string
  readonly priority?: number
}

export interface Crd {
  readonly spec: {
    readonly names: Readonly<Record<string, unknown>> & { readonly plural: string }
    readonly scope: string
    readonly versions: readonly Version[]
  }
}

/** What a CRD says, as short facts by place and word, without descriptions and messages. Two CRDs with the same facts accept and store the same. */
export type Facts = ReadonlyMap<string, string>

export function factsOf({ spec }: Crd): Facts {
  const facts = new Map<string, string>()
  const { plural } = spec.names
  for (const [word, value] of Object.entries(spec.names)) facts.set(`${plural} names.${word}`, textOf(value, true))
  facts.set(`${plural} scope`, spec.scope)
  facts.set(
    `${plural} versions`,
    spec.versions
      .map(({ name }) => name)
      .sort()
      .join(', '),
  )
  const stored = storedSchema({ spec })
  for (const { name, schema, additionalPrinterColumns = [], deprecationWarning, ...rest } of spec.versions) {
    for (const [word, value] of Object.entries(rest)) facts.set(`${plural} ${name} ${word}`, textOf(value))
    if (deprecationWarning !== undefined) facts.set(`${plural} ${name} deprecationWarning`, 'set')
    facts.set(`${plural} ${name} columns`, additionalPrinterColumns.map(columnText).join(', '))
    const same = sameSchema(schema.openAPIV3Schema, stored)
    facts.set(`${plural} ${name} schema`, same ? 'that of the stored version' : 'its own')
  }
  collect(stored, plural, facts)
  return facts
}

export function storedSchema({ spec }: Crd): Schema {
  const stored = spec.versions.find(({ storage }) => storage)
  if (stored === undefined) throw new Error(`CRD ${spec.names.plural} has no stored version`)
  return stored.schema.openAPIV3Schema
}

const columnText = ({ name, type, jsonPath, priority = 0 }: Column) =>
  `${name} ${type} ${jsonPath.replaceAll("'", '"')}${priority === 0 ? '' : ` ${priority}`}`

function sameSchema(a: Schema, b: Schema): boolean {
  const [left, right] = [a, b].map((schema) => {
    const facts = new Map<string, string>()
    collect(schema, '', facts)
    return [...facts]
      .map((fact) => fact.join(' '))
      .sort()
      .join('\n')
  })
  return left === right
}

const unordered = new Set(['required', 'enum', 'x-kubernetes-list-map-keys'])

function collect(schema: Schema, at: string, facts: Map<string, string>): void {
  const { description: _, properties = {}, items, additionalProperties, ...words } = schema
  for (const [name, inner] of Object.entries(properties)) collect(inner, `${at}.${name}`, facts)
  if (items !== undefined) collect(items, `${at}[]`, facts)
  if (additionalProperties !== undefined) collect(additionalProperties, `${at}{}`, facts)
  for (const [word, value] of Object.entries(words)) {
    if (word !== 'x-kubernetes-validations') facts.set(`${at} ${word}`, textOf(value, unordered.has(word)))
    else for (const { rule } of value as readonly { rule: string }[]) facts.set(`${at} rule ${ruleText(rule)}`, 'holds')
  }
}

/** A CEL rule without what makes no difference: white space, the kind of quotes, a comma before a bracket. */
export const ruleText = (rule: string) => rule.replaceAll(/\s+/g, '').replaceAll("'", '"').replaceAll(',]', ']')

function textOf(value: unknown, isSet = false): string {
  if (Array.isArray(value)) {
    const texts = value.map((item) => textOf(item))
    return `[${(isSet ? texts.sort() : texts).join(', ')}]`
  }
  if (value !== null && typeof value === 'object')
    return JSON.stringify(Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))))
  // A slash needs no escape in a pattern.
  return String(value).replaceAll('\\/', '/')
}
