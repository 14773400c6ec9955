import type { Draw } from './draw.ts'
import { type Group, pod } from './random-pods.ts'
import { daemonSpec } from './random-pools.ts'
import type { TypeJson } from './random-types.ts'
import { csiNode } from './random-volumes.ts'
import {
  capacityTypeKey,
  hostnameKey,
  isTrue,
  type Json,
  nodeNames,
  now,
  poolKey,
  type RequirementJson,
  requirement,
  type Subjects,
  taint,
  teamKey,
  teams,
  tierKey,
  tiers,
  zoneKey,
  zones,
} from './vocabulary.ts'

const states = [
  'ready',
  'ready',
  'ready',
  'starting',
  'joining',
  'launched',
  'planned',
  'unmanaged',
  'unlabelled',
] as const
const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }

interface Facts {
  readonly name: string
  readonly state: (typeof states)[number]
  readonly labels: Readonly<Record<string, string>>
  readonly amounts: Json
  readonly taints: readonly Json[]
}

/** 0 to 5 nodes in any stage of their lifecycles, with what runs on them. */
export function randomNodes(
  draw: Draw,
  about: Subjects,
  types: readonly TypeJson[],
  groups: readonly Group[],
): readonly Json[] {
  const count = draw.pick([0, 0, 1, 2, 3, 5])
  return nodeNames.slice(0, count).flatMap((name) => randomNode(draw, about, { name, type: draw.pick(types), groups }))
}

function randomNode(
  draw: Draw,
  about: Subjects,
  { name, type, groups }: { readonly name: string; readonly type: TypeJson; readonly groups: readonly Group[] },
) {
  const state = draw.pick(states)
  const facts: Facts = {
    name,
    state,
    labels: labelsOf(draw, about, type),
    amounts: amounts(draw, type),
    taints: about.taints ? draw.many(0, 1, () => taint(draw)) : [],
  }
  const leaving = draw.chance(0.15)
  const hasNode = state !== 'launched' && state !== 'planned'
  return [
    ...(state === 'unmanaged' ? [] : [claimOf(draw, about, facts, leaving)]),
    ...(hasNode ? [nodeOf(draw, facts, leaving)] : []),
    ...(about.volumes && hasNode ? draw.maybe(0.6, () => csiNode(draw, name)) : []),
    ...(hasNode
      ? boundPods(draw, about, name, groups)
      : draw.maybe(0.1, () => bound(draw, groups, `${name}-claim`, 0))),
  ]
}

function labelsOf(draw: Draw, about: Subjects, type: TypeJson) {
  const single = type.requirements.flatMap(({ key, values = [] }) =>
    values.length === 1 ? [[key, values[0] ?? '']] : [],
  )
  return {
    ...Object.fromEntries(single),
    [poolKey]: draw.pick(['pool-0', 'pool-0', 'pool-1', 'pool-9']),
    [zoneKey]: draw.pick(zones),
    [capacityTypeKey]: draw.pick(['spot', 'on-demand']),
    ...(about.customLabels ? draw.fields(0.5, () => ({ [teamKey]: draw.pick(teams) })) : {}),
    ...(about.customLabels ? draw.fields(0.3, () => ({ [tierKey]: draw.pick(tiers) })) : {}),
    ...draw.fields(0.1, () => ({ 'beta.kubernetes.io/arch': draw.pick(['amd64', 'arm64']) })),
  } as Readonly<Record<string, string>>
}

function amounts(draw: Draw, { capacity }: TypeJson): Json {
  const allocatable = { ...capacity, cpu: draw.pick(['1900m', '3800m', capacity['cpu'] ?? '2']) }
  return { capacity, allocatable }
}

function claimOf(
  draw: Draw,
  about: Subjects,
  { name, state, labels, amounts: own, taints }: Facts,
  leaving: boolean,
): Json {
  const open: readonly RequirementJson[] = [
    { key: zoneKey, operator: 'In', values: draw.someOf(zones) },
    { key: capacityTypeKey, operator: 'In', values: draw.someOf(['spot', 'on-demand']) },
    ...draw.maybe(0.3, () => requirement(draw, { ...about, hostnames: false })),
  ]
  const { [zoneKey]: _zone, [capacityTypeKey]: _capacityType, ...certain } = labels
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name: `${name}-claim`,
      labels: state === 'planned' ? certain : labels,
      ...(leaving ? { deletionTimestamp: now } : {}),
    },
    spec: {
      requirements: open,
      nodeClassRef,
      resources: { requests: { cpu: '1500m', memory: '1Gi', pods: '5' } },
      ...(taints.length > 0 ? { taints } : {}),
      ...(about.taints ? draw.fields(0.4, () => ({ startupTaints: [taint(draw)] })) : {}),
    },
    status:
      state === 'planned'
        ? {}
        : { providerID: `test:///${name}`, ...own, conditions: ['Launched', 'Registered', 'Initialized'].map(isTrue) },
  }
}

function nodeOf(draw: Draw, { name, state, labels, amounts: own, taints }: Facts, leaving: boolean): Json {
  const { [poolKey]: _pool, ...withoutPool } = labels
  const reported =
    state === 'unlabelled' ? { [poolKey]: labels[poolKey] ?? '' } : state === 'unmanaged' ? withoutPool : labels
  const stage = {
    ...(state === 'ready' || state === 'starting' ? { 'karpenter.sh/registered': 'true' } : {}),
    ...(state === 'ready' ? { 'karpenter.sh/initialized': 'true' } : {}),
  }
  const passing =
    state === 'ready' ? [] : draw.maybe(0.5, () => ({ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }))
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { ...reported, ...draw.fields(0.95, () => ({ [hostnameKey]: name })), ...stage },
      ...(leaving && state === 'unmanaged' ? { deletionTimestamp: now } : {}),
    },
    spec: {
      providerID: `test:///${name}`,
      ...(taints.length + passing.length > 0 ? { taints: [...taints, ...passing] } : {}),
    },
    status: { ...own, conditions: [isTrue('Ready')] },
  }
}

function boundPods(draw: Draw, about: Subjects, name: string, groups: readonly Group[]): readonly Json[] {
  return [
    ...draw.many(0, draw.pick([0, 1, 3]), (index) => bound(draw, groups, name, index)),
    // Now and then there is more on a node than it has room for.
    ...draw.maybe(0.15, () => bound(draw, [{ ...draw.pick(groups), requests: { cpu: '12' } }], name, 9)),
    ...draw.maybe(0.3, () => {
      const daemon = `daemon-${draw.below(3)}`
      const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: daemon, uid: daemon, controller: true }
      return {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `${name}-daemon`, namespace: 'kube-system', labels: { daemon }, ownerReferences: [owner] },
        spec: { ...daemonSpec(draw, about), nodeName: name },
      }
    }),
  ]
}

function bound(draw: Draw, groups: readonly Group[], nodeName: string, index: number): Json {
  const group = draw.pick(groups)
  const made = pod(draw, group, `${nodeName}-pod-${index}`, { nodeName }) as { readonly metadata: Json }
  const ending = draw.chance(0.05) ? { metadata: { ...made.metadata, deletionTimestamp: now } } : {}
  return { ...made, ...ending, ...draw.fields(0.03, () => ({ status: { phase: 'Succeeded' } })) }
}
