// Reads the models of an SDK as its type declarations say them: fields of a body, their types, and values of enums.
import {
  type BindingIdentifier,
  parseSync,
  type TSInterfaceDeclaration,
  type TSPropertySignature,
  type TSType,
} from 'oxc-parser'

/** Type of a field, as far as a body can be checked against it. */
export type ModelType =
  | { readonly kind: 'object'; readonly name: string }
  | { readonly kind: 'list' | 'map'; readonly of: ModelType }
  | { readonly kind: 'enum'; readonly name: string; readonly values: readonly string[] }
  | { readonly kind: 'plain' }

export interface ModelField {
  readonly type: ModelType
  /** True for what only the service fills in. */
  readonly isReadOnly: boolean
}

const plain: ModelType = { kind: 'plain' }

/** Enums whose own description says that they are out of date: Azure takes more values. */
const openEnums: ReadonlySet<string> = new Set(['VirtualMachineSizeTypes'])

/** The declarations of an SDK's models. */
export class Models {
  readonly #interfaces = new Map<string, TSInterfaceDeclaration>()
  readonly #aliases = new Map<string, TSType>()
  readonly #enums = new Map<string, readonly string[]>()

  /** Errors: the text does not parse. */
  constructor(text: string) {
    const { program, errors } = parseSync('models.d.ts', text)
    if (errors[0] !== undefined) throw new Error(`the models do not parse: ${errors[0].message}`)
    for (const statement of program.body) {
      if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) continue
      const { declaration } = statement
      if (declaration.type === 'TSInterfaceDeclaration') this.#interfaces.set(declaration.id.name, declaration)
      if (declaration.type === 'TSTypeAliasDeclaration')
        this.#aliases.set(declaration.id.name, declaration.typeAnnotation)
      if (declaration.type === 'TSEnumDeclaration')
        this.#enums.set(
          declaration.id.name,
          declaration.body.members.flatMap(({ initializer }) =>
            initializer?.type === 'Literal' && typeof initializer.value === 'string' ? [initializer.value] : [],
          ),
        )
    }
  }

  /** Returns whether the SDK takes the fields below `properties` out of it. */
  isFlat(type: string): boolean {
    return this.#signature(type, 'properties') === undefined
  }

  /**
   * Returns a field of a type by its name on the wire. SDKs write some names in other letters, and a `type` below `properties` otherwise, since the resource has
   * a type too.
   */
  field(type: string, name: string, isBelowProperties = false): ModelField | undefined {
    const renamed = name === 'type' && isBelowProperties ? 'typePropertiesType' : name
    const signature = this.#signature(type, renamed) ?? this.#signature(type, name)
    if (signature === undefined) return undefined
    return { type: this.#typeOf(signature.typeAnnotation?.typeAnnotation), isReadOnly: signature.readonly }
  }

  #signature(type: string, name: string): TSPropertySignature | undefined {
    const found = this.#interfaces.get(type)
    if (found === undefined) throw new Error(`the models have no type ${type}`)
    const own = found.body.body.find(
      (member): member is TSPropertySignature =>
        member.type === 'TSPropertySignature' &&
        member.key.type === 'Identifier' &&
        member.key.name.toLowerCase() === name.toLowerCase(),
    )
    if (own !== undefined) return own
    for (const { expression } of found.extends) {
      const inherited = this.#signature((expression as BindingIdentifier).name, name)
      if (inherited !== undefined) return inherited
    }
    return undefined
  }

  #typeOf(type: TSType | undefined): ModelType {
    if (type?.type === 'TSArrayType') return { kind: 'list', of: this.#typeOf(type.elementType) }
    if (type?.type === 'TSTypeLiteral') return this.#mapOf(type.members[0])
    if (type?.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier') return plain
    const { name } = type.typeName
    const parameters = type.typeArguments?.params ?? []
    if (name === 'Record') return { kind: 'map', of: this.#typeOf(parameters[1]) }
    if (name === 'Array') return { kind: 'list', of: this.#typeOf(parameters[0]) }
    if (this.#interfaces.has(name)) return { kind: 'object', name }
    const values = this.#enums.get(`Known${name}`) ?? this.#enums.get(name) ?? literalsOf(this.#aliases.get(name))
    return values.length === 0 || openEnums.has(name) ? plain : { kind: 'enum', name, values }
  }

  #mapOf(member: { readonly type: string } | undefined): ModelType {
    if (member?.type !== 'TSIndexSignature') return plain
    const { typeAnnotation } = member as { readonly typeAnnotation?: { readonly typeAnnotation: TSType } }
    return { kind: 'map', of: this.#typeOf(typeAnnotation?.typeAnnotation) }
  }
}

function literalsOf(type: TSType | undefined): readonly string[] {
  if (type?.type !== 'TSUnionType') return []
  return type.types.flatMap((one) =>
    one.type === 'TSLiteralType' && one.literal.type === 'Literal' && typeof one.literal.value === 'string'
      ? [one.literal.value]
      : [],
  )
}
