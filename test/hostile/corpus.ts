import { hostileClaims } from './claims.ts'
import { hostileClasses } from './classes.ts'
import { hostileFiles } from './files.ts'
import type { HostileFile, HostileMachine, HostileObject } from './hostile-object.ts'
import { hostileMachines } from './machines.ts'
import { hostilePods } from './pods.ts'
import { hostilePools } from './pools.ts'

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
