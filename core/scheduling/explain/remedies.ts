import { labels } from '../../requirements/labels.ts'
import { describe, intersects, operatorOf, type Requirement } from '../../requirements/requirement.ts'
import type { RequirementSet } from '../offerings/requirement-sets.ts'
import type { TopologyRefusal } from '../unschedulable.ts'
import { countOf, shortKey, some, typesOf, valuesOf } from './funnel-types.ts'
import { type Attempt, type Blamed, volumesOf } from './nearest-miss.ts'
import type { WaitingCause } from './waiting-classes.ts'

/** Returns what pods wait for whose node one requirement excludes. */
export function causeOf({ by }: Blamed): WaitingCause {
  return by === 'volumes' ? 'volume' : by === 'topology' ? 'topology' : 'requirements'
}

/** Returns what admits the types that one requirement excludes. */
export function blamedRemedies({ pool, one }: Attempt, { key, asked, by, others, types }: Blamed): readonly string[] {
  const values = valuesOf(typesOf(pool, types), key, others)
  const wanted = values.length === 0 ? 'other values' : some(values)
  const count = countOf(types)
  switch (by) {
    case 'pool':
      return [
        `let NodePool "${pool.name}" allow ${wanted} for ${key} in spec.template.spec.requirements (it has ${describe(asked)}): ${count} instance ${count === 1 ? 'type' : 'types'} would do`,
      ]
    case 'pod':
      return [
        `let the pods take ${wanted} for ${key} in nodeSelector and node affinity (they ask for ${describe(asked)})`,
      ]
    case 'volumes':
      return [`let the pods use a volume in ${shortKey(key)} ${wanted}: ${volumesOf(one)} ask for ${describe(asked)}`]
    case 'topology':
      return [
        `let the pods' topology rule on ${key} be a preference, or let NodePool "${pool.name}" offer ${describe(asked)}`,
      ]
  }
}

export function noTypes({ pool }: Attempt): readonly string[] {
  return [
    `let NodePool "${pool.name}" allow more instance types in spec.template.spec.requirements: joiner instance-types shows what there is`,
  ]
}

/** `base`: the node's requirements without the volumes'. */
export function volumeRemedies({ pool, one, alternative }: Attempt, base: RequirementSet): readonly string[] {
  const asked = [...(alternative?.map.values() ?? [])].find(({ key }) => base.map.has(key))
  if (asked === undefined) return []
  const own = pool.set.map.get(asked.key)
  const isOfPool = own !== undefined && !intersects(own, asked)
  return [
    isOfPool
      ? `let NodePool "${pool.name}" allow ${valuesText(asked)} for ${asked.key} in spec.template.spec.requirements, where ${volumesOf(one)} can be attached (it has ${describe(own)})`
      : `let the pods go to ${valuesText(asked)} (${asked.key}), where ${volumesOf(one)} can be attached`,
  ]
}

export function topologyRemedies(nodePool: string, { rule, key }: TopologyRefusal): readonly string[] {
  const more = `let NodePool "${nodePool}" offer more values of ${key} in spec.template.spec.requirements`
  switch (rule) {
    case 'topology spread':
      return [
        `set whenUnsatisfiable: ScheduleAnyway, or a larger maxSkew, for the pods' topology spread on ${key}`,
        ...(key === labels.hostname ? [] : [more]),
      ]
    case 'pod affinity':
      return [
        `make the pod affinity on ${key} preferred, or let pods that it selects run where NodePool "${nodePool}" can have nodes`,
      ]
    case 'pod anti-affinity':
      return [`make the pod anti-affinity on ${key} preferred`, ...(key === labels.hostname ? [] : [more])]
  }
}

export function onlyValue(one: Requirement | undefined): string | undefined {
  return one !== undefined && operatorOf(one) === 'In' && one.values.size === 1 ? [...one.values][0] : undefined
}

export function valuesText(one: Requirement): string {
  return operatorOf(one) === 'In' ? some([...one.values].sort()) : describe(one)
}
