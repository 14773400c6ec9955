export type Json = Readonly<Record<string, unknown>>

/** An object that a tenant or a platform user may send. Whether the API server takes it is a part of the result. */
export interface HostileObject {
  readonly kind: 'Pod' | 'NodePool' | 'NodeClaim' | 'AKSNodeClass'
  /** What is wrong with it; unique within its kind. */
  readonly what: string
  readonly body: Json
  /** Written to the status subresource once it exists. */
  readonly status?: Json
  /** Objects that it names, which are created before it. */
  readonly needs?: readonly Json[]
}

/** A VM in the node resource group that is not Joiner's. */
export interface HostileMachine {
  readonly kind: 'VM'
  readonly what: string
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
}

/** A file given to the commands that read manifests. */
export interface HostileFile {
  readonly kind: 'file'
  readonly what: string
  readonly bytes: Uint8Array
}
