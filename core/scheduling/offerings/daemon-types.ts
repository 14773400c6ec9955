import type { ContainerPort, Taint } from '../../objects.ts'
import type { DaemonSet } from '../../pods/related-objects.ts'
import { podRequirements } from '../../requirements/requirements.ts'
import { mergeResources, noResources, type Resources } from '../../resources.ts'
import { untolerated } from '../../taints.ts'
import { addBit, type Bits, hasBit, membersOf, noBits } from './bits.ts'
import type { RequirementSet, RequirementSets } from './requirement-sets.ts'
import type { TypeIndex } from './type-index.ts'

/** Types of a pool on which the same daemons run. */
export interface DaemonGroup {
  readonly types: Bits
  readonly overhead: Resources
  readonly ports: readonly ContainerPort[]
  readonly daemons: number
}

/** Properties of a pool that decide which daemons run on its nodes. */
interface DaemonPool {
  readonly taints: readonly Taint[]
  readonly set: RequirementSet
  readonly index: TypeIndex
  readonly usable: Bits
}

/** Groups types by the daemons that will run on them. */
export function daemonGroups(
  pool: DaemonPool,
  daemonSets: readonly DaemonSet[],
  sets: RequirementSets,
): readonly DaemonGroup[] {
  const fitting = daemonSets.map(({ pod }) => daemonTypes(pool, pod, sets))
  const groups = new Map<string, { types: Bits; daemons: DaemonSet[] }>()
  for (const type of membersOf(pool.usable)) {
    const daemons = daemonSets.filter((_, at) => hasBit(fitting[at] as Bits, type))
    const key = daemons.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join()
    let group = groups.get(key)
    if (group === undefined) {
      group = { types: noBits(pool.index.types.length), daemons }
      groups.set(key, group)
    }
    addBit(group.types, type)
  }
  return [...groups.values()].map(({ types, daemons }) => ({
    types,
    daemons: daemons.length,
    overhead: daemons.reduce<Resources>((sum, { pod }) => mergeResources(sum, pod.requests), noResources),
    ports: daemons.flatMap(({ pod }) => pod.hostPorts),
  }))
}

/**
 * Returns the types on which a daemon would run, whatever its preferences. As upstream, a required affinity term that one type does not meet is not
 * tried on later types.
 */
function daemonTypes(pool: DaemonPool, daemon: DaemonSet['pod'], sets: RequirementSets): Bits {
  const types = noBits(pool.index.types.length)
  const tolerations = [...daemon.tolerations, { operator: 'Exists' as const, effect: 'PreferNoSchedule' as const }]
  if (daemon.resourceClaims.length > 0 || untolerated(pool.taints, tolerations).length > 0) return types
  const terms = daemon.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const met = Array.from({ length: Math.max(1, terms.length) }, (_, at) => {
    const wanted = sets.intern(podRequirements(withTerm(daemon, at), { strict: true }))
    return typeof sets.merged(pool.set, wanted, 'lenient') === 'string' ? types.slice() : pool.index.meeting(wanted)
  })
  let term = 0
  for (const type of membersOf(pool.usable)) {
    while (term < met.length - 1 && !hasBit(met[term] as Bits, type)) term += 1
    if (hasBit(met[term] as Bits, type)) addBit(types, type)
  }
  return types
}

function withTerm(daemon: DaemonSet['pod'], at: number): Pick<DaemonSet['pod'], 'nodeSelector' | 'affinity'> {
  const terms = daemon.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms
  if (terms === undefined || terms.length < 2) return daemon
  const required = { nodeSelectorTerms: terms.slice(at) }
  return {
    nodeSelector: daemon.nodeSelector,
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
  }
}
