import type { Taint } from '../../objects.ts'
import { intersects, type Requirement, requirement } from '../../requirements/requirement.ts'
import { untolerated } from '../../taints.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import { allowsHostname, type Level, levelOf } from '../solver/pod-shapes.ts'
import type { Waiting } from '../solver/waiting-pods.ts'
import { choiceOf } from '../topology/concern.ts'
import type { TopologyRefusal } from '../unschedulable.ts'
import type { FinishedPass } from './finished-pass.ts'
import type { Attempt } from './nearest-miss.ts'

/** What the requirements of a new node of one NodePool would be for a pod, or why there are none. */
export type Reached =
  | { readonly kind: 'taint'; readonly taint: Taint }
  | { readonly kind: 'hostname' }
  /** The NodePool's requirements exclude the pod's. */
  | { readonly kind: 'excluded' }
  /** `base`: without the volumes' requirements. */
  | { readonly kind: 'volumes'; readonly base: RequirementSet }
  | { readonly kind: 'topology'; readonly refusal: TopologyRefusal }
  /** Two topology rules of the pod choose different domains. */
  | { readonly kind: 'conflict'; readonly choice: Requirement; readonly own: Requirement; readonly rule: string }
  | { readonly kind: 'set'; readonly set: RequirementSet }

/** The domain of a node that no pod of the pass has been on. */
const newHostname = 'hostname-placeholder-0000'

/** Follows a pod's last attempt with a NodePool up to the choice of instance types. */
export function reached(pass: FinishedPass, { pool, level, alternative }: Attempt): Reached {
  const [taint] = untolerated(pool.taints, level.facet.facts.tolerations)
  if (taint !== undefined) return { kind: 'taint', taint }
  if (!allowsHostname(level, newHostname)) return { kind: 'hostname' }
  const base = pass.sets.merged(pool.set, level.wanted, 'claim')
  if (typeof base === 'string') return { kind: 'excluded' }
  const own = alternative === undefined ? base : pass.sets.merged(base, alternative, 'claim')
  return typeof own === 'string' ? { kind: 'volumes', base } : narrowed(pass, level, own)
}

/** Adds topology's requirements for a new node. */
function narrowed({ sets, topology }: FinishedPass, level: Level, before: RequirementSet): Reached {
  let set = before
  for (const concern of topology.concerning(level)) {
    const { group, pod, selectsItself } = concern
    const { key } = group
    const any = requirement({ key, operator: 'Exists' })
    const refused = (): Reached => ({
      kind: 'topology',
      refusal: group.refusal(pod ?? any, before.map.get(key) ?? any),
    })
    if (group.isHostname) {
      if (!group.allowsHost(topology.host(newHostname), pod, selectsItself)) return refused()
      continue
    }
    const choice = choiceOf(concern, before.map.get(key))
    if (choice === 'any') continue
    if (choice === undefined) return refused()
    const own = set.map.get(key)
    if (own !== undefined && !intersects(own, choice)) return { kind: 'conflict', choice, own, rule: group.rule.kind }
    set = sets.both(set, choice)
  }
  return { kind: 'set', set }
}

/** Returns the level of a pod that has given up all its preferences. */
export function lastLevelOf(one: Waiting, { levels }: FinishedPass): Level {
  let last = levelOf(one.shape, 0, levels) as Level
  for (let number = 1; ; number++) {
    const next = levelOf(one.shape, number, levels)
    if (next === undefined) return last
    last = next
  }
}
