import type { Draw } from './draw.ts'

export type Json = Readonly<Record<string, unknown>>

export interface RequirementJson {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
  readonly minValues?: number
}

export const now = '2026-03-01T12:00:00Z'

export const zoneKey = 'topology.kubernetes.io/zone'
export const hostnameKey = 'kubernetes.io/hostname'
export const capacityTypeKey = 'karpenter.sh/capacity-type'
export const archKey = 'kubernetes.io/arch'
export const typeKey = 'node.kubernetes.io/instance-type'
export const poolKey = 'karpenter.sh/nodepool'
export const reservationKey = 'karpenter.test.sh/reservation-id'
/** A whole number that types have and the provider makes well known. */
export const sizeKey = 'karpenter.test/size'
/** Pools may define it; no type does. */
export const teamKey = 'example.com/team'
/** Types and pools may define it. */
export const tierKey = 'example.com/tier'
/** Nodes may have it; no NodeClaim can ask for it. */
const restrictedKey = 'agentpool'
/** Nobody defines it, unless a pod does. */
export const absentKey = 'example.com/absent'

export const zones = ['zone-1', 'zone-2', 'zone-3'] as const
export const capacityTypes = ['spot', 'on-demand', 'reserved'] as const
export const teams = ['red', 'blue'] as const
export const tiers = ['web', 'batch', '7'] as const
export const apps = ['a', 'b', 'c', 'd'] as const
export const versions = ['v1', 'v2'] as const
export const namespaces = ['default', 'blue', 'green'] as const
export const nodeNames = ['node-0', 'node-1', 'node-2', 'node-3', 'node-4'] as const
export const disk = 'disk.csi.azure.com'
export const file = 'file.csi.azure.com'

/** What a cluster has to do with: few subjects each, so that those which it has meet often. */
export interface Subjects {
  readonly taints: boolean
  readonly numbers: boolean
  readonly customLabels: boolean
  readonly reserved: boolean
  readonly spreads: boolean
  readonly affinities: boolean
  readonly preferences: boolean
  readonly volumes: boolean
  readonly ports: boolean
  readonly limits: boolean
  readonly minValues: boolean
  readonly extended: boolean
  readonly overrides: boolean
  readonly hostnames: boolean
  /** Little but custom keys, in every relation to them: some become known, or absent, by the pods that come first. */
  readonly keys: boolean
}

export function subjects(draw: Draw): Subjects {
  const share = draw.pick([0.15, 0.3, 0.5])
  const keys = draw.chance(0.12)
  const some = () => draw.chance(keys ? 0.05 : share)
  return {
    taints: some(),
    numbers: some(),
    customLabels: some(),
    reserved: some(),
    spreads: keys ? false : draw.chance(share + 0.1),
    affinities: some(),
    preferences: some(),
    volumes: some(),
    ports: some(),
    limits: some(),
    minValues: some(),
    extended: some(),
    overrides: some(),
    hostnames: draw.chance(0.2),
    keys,
  }
}

const taintKeys = ['dedicated', 'level'] as const

export function taint(draw: Draw): Json {
  const key = draw.pick(taintKeys)
  return {
    key,
    ...draw.fields(0.7, () => ({ value: key === 'level' ? draw.pick(['1', '5']) : draw.pick(['x', 'y']) })),
    effect: draw.pick(['NoSchedule', 'NoSchedule', 'PreferNoSchedule', 'NoExecute']),
  }
}

export function toleration(draw: Draw): Json {
  const effect = draw.fields(0.4, () => ({ effect: draw.pick(['NoSchedule', 'PreferNoSchedule', 'NoExecute']) }))
  if (draw.chance(0.25)) return { operator: 'Exists', ...effect }
  if (draw.chance(0.2)) return { key: 'level', operator: draw.pick(['Lt', 'Gt']), value: '3', ...effect }
  if (draw.chance(0.4)) return { key: draw.pick(taintKeys), operator: 'Exists', ...effect }
  return { key: draw.pick(taintKeys), operator: 'Equal', value: draw.pick(['x', 'y', '1']), ...effect }
}

const known = (draw: Draw, list: readonly string[]) => draw.someOf(list, 0.6)

/** A requirement on a key of few values, most of which exist. */
export function requirementOn(draw: Draw, key: string, list: readonly string[]): RequirementJson {
  const operator = draw.pick(['In', 'In', 'In', 'In', 'NotIn', 'NotIn', 'Exists', 'DoesNotExist'])
  if (operator === 'Exists') return { key, operator }
  if (operator === 'DoesNotExist') {
    return draw.chance(key === absentKey || key === teamKey ? 1 : 0.1) ? { key, operator } : { key, operator: 'Exists' }
  }
  const values = draw.chance(0.04) ? ['nowhere'] : known(draw, list)
  if (operator === 'NotIn') return { key, operator, values: values.slice(0, list.length - 1) }
  return { key, operator, values }
}

export function numberRequirement(draw: Draw, key = sizeKey): RequirementJson {
  const operator = draw.pick(['Gt', 'Lt', 'Gte', 'Lte', 'In', 'NotIn'])
  const value = draw.pick(['1', '2', '4', '8'])
  return { key, operator, values: [value] }
}

/** Nothing that a NodeClaim can be created with. */
function unclaimable(draw: Draw): RequirementJson {
  if (draw.chance(0.5)) return requirementOn(draw, restrictedKey, teams)
  return { key: draw.pick([sizeKey, tierKey]), operator: 'Lt', values: ['0'] }
}

/** Any relation to a custom key, each as likely. */
function relation(draw: Draw): RequirementJson {
  const key = draw.pick([teamKey, teamKey, absentKey])
  const operator = draw.pick(['In', 'NotIn', 'Exists', 'DoesNotExist'])
  return { key, operator, ...(operator.endsWith('In') ? { values: [draw.pick(teams)] } : {}) }
}

/** What pods and pools ask of a node's labels. */
export function requirement(draw: Draw, about: Subjects): RequirementJson {
  if (about.keys && draw.chance(0.8)) return relation(draw)
  if (about.hostnames && draw.chance(0.2)) return requirementOn(draw, hostnameKey, nodeNames)
  const makers: (() => RequirementJson)[] = [
    () => requirementOn(draw, zoneKey, zones),
    () => requirementOn(draw, zoneKey, zones),
    () => requirementOn(draw, capacityTypeKey, capacityTypes),
    () => requirementOn(draw, archKey, ['amd64', 'arm64']),
    ...(about.numbers ? [() => numberRequirement(draw), () => numberRequirement(draw, tierKey)] : []),
    ...(about.customLabels
      ? [
          () => requirementOn(draw, teamKey, teams),
          () => requirementOn(draw, tierKey, tiers),
          () => requirementOn(draw, teamKey, teams),
          () => requirementOn(draw, absentKey, ['here']),
        ]
      : []),
    ...(about.reserved ? [() => requirementOn(draw, reservationKey, ['r-1', 'r-2'])] : []),
    ...(about.hostnames ? [() => requirementOn(draw, hostnameKey, nodeNames)] : []),
    ...(draw.chance(0.1) ? [() => requirementOn(draw, 'beta.kubernetes.io/arch', ['amd64', 'arm64'])] : []),
    ...(draw.chance(0.1) ? [() => unclaimable(draw)] : []),
    ...(draw.chance(0.1) ? [() => requirementOn(draw, poolKey, ['pool-0', 'pool-1'])] : []),
  ]
  return draw.pick(makers)()
}

export function isTrue(type: string): Json {
  return { type, status: 'True', reason: type, lastTransitionTime: now }
}
