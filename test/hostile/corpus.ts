import { hostileClaims } from './claims.ts'
import { hostileClasses } from './classes.ts'
import { hostileFiles } from './files.ts'
import { hostileMachines } from './machines.ts'
import { hostilePods } from './pods.ts'
import { hostilePools } from './pools.ts'

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

export interface Corpus {
  readonly machines: readonly HostileMachine[]
  readonly objects: readonly HostileObject[]
  readonly files: readonly HostileFile[]
}

/** Returns everything hostile that the suite knows, built from the surfaces of reference/threats.md 1 to 10. */
export function hostileCorpus(): Corpus {
  return {
    machines: hostileMachines(),
    objects: [...hostileClasses(), ...hostilePools(), ...hostileClaims(), ...hostilePods()],
    files: hostileFiles(),
  }
}

/** Returns every tenth of each list, from the first on: the part that runs with all tests. */
export function tenthOf({ machines, objects, files }: Corpus): Corpus {
  const tenth = <T>(all: readonly T[]) => all.filter((_, index) => index % 10 === 0)
  return { machines: tenth(machines), objects: tenth(objects), files: tenth(files) }
}
