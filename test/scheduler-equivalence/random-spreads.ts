import {
  type Arbitrary,
  array,
  boolean,
  constant,
  constantFrom,
  integer,
  oneof,
  record,
  subarray,
  uniqueArray,
} from 'fast-check'
import type { InstanceType, Offering } from '../../core/instance-type.ts'
import type { Node, NodePool, Pod, RequirementSpec, Taint, TopologySpreadConstraint } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { inValues } from '../../core/requirements/requirement.ts'
import type { SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import { schedulableNodes } from '../../core/scheduling/state-nodes.ts'
import { sampleNode, samplePod, samplePool, sampleType } from '../samples/sample-objects.ts'
import { teamKey, teams, zoneKey, zones } from './vocabulary.ts'

/** Pools may define it; no type does. */
export const rackKey = 'example.com/rack'
export const racks = ['r1', 'r2', 'r3'] as const
const arches = ['amd64', 'arm64'] as const
const apps = ['a', 'b', 'c'] as const
const dedicated: Taint = { key: 'dedicated', value: 'x', effect: 'NoSchedule' }
const disliked: Taint = { key: 'disliked', effect: 'PreferNoSchedule' }

/** A cluster whose pods are spread, and are limited by nothing else but labels and taints. */
export interface SpreadCluster {
  readonly pools: readonly NodePool[]
  readonly types: readonly InstanceType[]
  readonly nodes: readonly Node[]
  readonly running: readonly Pod[]
  readonly pods: readonly Pod[]
}

const some = (key: string, values: readonly string[]) =>
  subarray([...values], { minLength: 1 }).map((own): RequirementSpec => ({ key, operator: 'In', values: own }))
const someOrAny = (key: string, values: readonly string[]) =>
  oneof(some(key, values), constant<RequirementSpec>({ key, operator: 'Exists' }))
const someOrOthers = (key: string, values: readonly string[]) =>
  oneof(
    someOrAny(key, values),
    constantFrom(...values).map((value): RequirementSpec => ({ key, operator: 'NotIn', values: [value] })),
  )
const maybe = <T>(one: Arbitrary<T>): Arbitrary<readonly T[]> =>
  oneof(
    constant<readonly T[]>([]),
    one.map((value) => [value]),
  )
const hardTaints = constantFrom<readonly Taint[]>([], [], [dedicated])
const taints = oneof(hardTaints, constant([disliked]))

const pool = record({
  zone: maybe(some(zoneKey, zones)),
  rack: maybe(someOrOthers(rackKey, racks)),
  team: maybe(someOrOthers(teamKey, teams)),
  taints: hardTaints,
  weight: integer({ min: 0, max: 2 }),
}).map(({ zone, rack, team, taints: own, weight }) => ({
  weight,
  spec: { taints: own, requirements: [...zone, ...rack, ...team] },
}))

interface TypeFacts {
  readonly zones: readonly string[]
  /** Where it is to be had now. */
  readonly sold: readonly string[]
  readonly arch: string
}

/** Types of few zones, of which some have no capacity. */
export const scarceTypes: Arbitrary<readonly TypeFacts[]> = array(
  record({
    zones: subarray([...zones], { minLength: 1 }),
    sold: subarray([...zones]),
    arch: constantFrom(...arches),
  }),
  { minLength: 1, maxLength: 3 },
)

/** Types that are to be had in every zone. */
export const plentifulTypes: Arbitrary<readonly TypeFacts[]> = constant(
  arches.map((arch) => ({ zones, sold: zones, arch })),
)

const node = record({
  zone: constantFrom(...zones, undefined),
  rack: constantFrom(...racks, undefined),
  team: constantFrom(...teams, undefined),
  arch: constantFrom(...arches),
  taints,
  room: constantFrom(0, 2, 16),
  running: array(constantFrom(...apps), { maxLength: 4 }),
})

const term = record({
  zone: maybe(some(zoneKey, zones)),
  rack: maybe(some(rackKey, racks)),
  team: maybe(someOrAny(teamKey, teams)),
  arch: maybe(some(labels.arch, arches)),
})
  .map(({ zone, rack, team, arch }) => [...zone, ...rack, ...team, ...arch])
  .filter((one) => one.length > 0)

const constraint = record(
  {
    topologyKey: constantFrom(zoneKey, zoneKey, rackKey, labels.capacityType, labels.hostname),
    maxSkew: constantFrom(1, 1, 2),
    minDomains: constantFrom(1, 2, 3, 4),
    nodeAffinityPolicy: constantFrom<'Honor' | 'Ignore'>('Honor', 'Honor', 'Ignore'),
    nodeTaintsPolicy: constantFrom<'Honor' | 'Ignore'>('Honor', 'Ignore'),
    matchLabelKeys: constant(['version']),
  },
  { requiredKeys: ['topologyKey', 'maxSkew'] },
)

const app = record({
  count: integer({ min: 1, max: 5 }),
  version: constantFrom('v1', 'v2'),
  selector: maybe(constantFrom(...teams)),
  terms: oneof(constant<Drawn<typeof term>[]>([]), array(term, { minLength: 1, maxLength: 3 })),
  preferred: maybe(term),
  tolerates: boolean(),
  spreads: uniqueArray(constraint, { minLength: 1, maxLength: 2, selector: ({ topologyKey }) => topologyKey }),
}).filter(({ terms, selector, preferred, spreads }) => {
  const asked = new Set(terms.flat().map(({ key }) => key))
  // A node in a domain that the pod's own requirement leaves out may come at any time, and then it counts.
  if (spreads.some((one) => one.nodeAffinityPolicy === 'Ignore' && asked.has(one.topologyKey))) return false
  // Of several terms the first is given up before a preference.
  if (terms.length > 1 && preferred.length > 0) return false
  // Requirements that contradict each other are met by nodes without the label.
  const others = [...preferred.flat().map(({ key }) => key), ...(selector.length > 0 ? [teamKey] : [])]
  return others.every((key, at) => !asked.has(key) && others.indexOf(key) === at)
})

export const spreadClusters = (types: Arbitrary<readonly TypeFacts[]>): Arbitrary<SpreadCluster> =>
  record({
    pools: array(pool, { minLength: 1, maxLength: 3 }),
    types,
    nodes: array(node, { maxLength: 4 }),
    apps: array(app, { minLength: 1, maxLength: 3 }),
  })
    .filter(({ pools, apps: drawn }) => !leavesRacksOpen(pools) || !drawn.some(isSpreadOverRacks))
    .map((drawn) => ({
      pools: drawn.pools.map((one, at) => samplePool(`pool-${at}`, one)),
      types: drawn.types.map((one, at) => typeOf(`type-${at}`, one)),
      nodes: drawn.nodes.map((one, at) => nodeOf(`node-${at}`, one)),
      running: drawn.nodes.flatMap(({ running }, at) =>
        running.map((name, index) =>
          samplePod(`running-${at}-${index}`, {
            metadata: { labels: { app: name, version: 'v1' } },
            nodeName: `node-${at}`,
            phase: 'Running',
          }),
        ),
      ),
      pods: drawn.apps.flatMap((one, at) => podsOf(apps[at] as string, one)),
    }))

/** Its nodes get a value that nothing names before. */
const leavesRacksOpen = (pools: readonly Drawn<typeof pool>[]) =>
  pools.some(({ spec }) => spec.requirements.some(({ key, operator }) => key === rackKey && operator !== 'In'))
const isSpreadOverRacks = ({ spreads }: Drawn<typeof app>) => spreads.some(({ topologyKey }) => topologyKey === rackKey)

type Drawn<T> = T extends Arbitrary<infer U> ? U : never

function typeOf(name: string, { zones: own, sold, arch }: TypeFacts): InstanceType {
  const sample = sampleType(name, 16)
  const isIn = (offering: Offering, all: readonly string[]) =>
    all.some((zone) => offering.requirements.get(zoneKey)?.values.has(zone))
  return {
    ...sample,
    requirements: new Map([
      ...sample.requirements,
      [labels.arch, inValues(labels.arch, [arch])],
      [zoneKey, inValues(zoneKey, own)],
    ]),
    offerings: sample.offerings.filter((one) => isIn(one, own)).map((one) => ({ ...one, available: isIn(one, sold) })),
  }
}

function nodeOf(name: string, { zone, rack, team, arch, taints: own, room }: Drawn<typeof node>): Node {
  const stated = { [zoneKey]: zone, [rackKey]: rack, [teamKey]: team, [labels.arch]: arch }
  const known = Object.entries(stated).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]))
  const sample = sampleNode(name, { taints: own, allocatable: { cpu: room, memory: '64Gi', pods: 110 } })
  const others = Object.entries(sample.metadata.labels).filter(([key]) => key !== zoneKey)
  return {
    ...sample,
    metadata: {
      ...sample.metadata,
      labels: Object.fromEntries([...others, ...known, [labels.capacityType, 'spot']]),
    },
  }
}

function podsOf(
  name: string,
  { count, version, selector, terms, preferred, tolerates, spreads }: Drawn<typeof app>,
): readonly Pod[] {
  const nodeAffinity = {
    ...(terms.length === 0
      ? {}
      : {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })),
          },
        }),
    preferredDuringSchedulingIgnoredDuringExecution: preferred.map((matchExpressions) => ({
      weight: 1,
      preference: { matchExpressions },
    })),
  }
  return Array.from({ length: count }, (_, at) =>
    samplePod(`${name}-${at}`, {
      metadata: { labels: { app: name, version } },
      nodeSelector: Object.fromEntries(selector.map((team) => [teamKey, team])),
      affinity: { nodeAffinity },
      tolerations: tolerates ? [{ operator: 'Exists' }] : [],
      topologySpreadConstraints: spreads.map(
        (one): TopologySpreadConstraint => ({
          ...one,
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: name } },
        }),
      ),
    }),
  )
}

export function snapshotOf({ pools, types, nodes, running, pods }: SpreadCluster): SchedulingSnapshot {
  const podsByNode = Map.groupBy(running, ({ nodeName }) => nodeName as string)
  return {
    pods,
    nodes: schedulableNodes({ nodes, nodeClaims: [], podsByNode, daemonSets: [] }),
    nodePools: pools.map((nodePool) => ({ nodePool, instanceTypes: types, usage: {} })),
    daemonSets: [],
  }
}
