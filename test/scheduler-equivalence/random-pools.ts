import type { Draw } from './draw.ts'
import type { Amounts } from './random-types.ts'
import {
  capacityTypeKey,
  capacityTypes,
  type Json,
  now,
  numberRequirement,
  type RequirementJson,
  requirement,
  requirementOn,
  type Subjects,
  sizeKey,
  taint,
  teamKey,
  teams,
  tierKey,
  tiers,
  toleration,
  typeKey,
  zoneKey,
  zones,
} from './vocabulary.ts'

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }

/** 0 to 4 NodePools. */
export function randomPools(draw: Draw, about: Subjects): readonly Json[] {
  const count = draw.pick([0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 4])
  if (count === 0 && draw.chance(0.85)) return [randomPool(draw, about, 0)]
  return Array.from({ length: count }, (_, index) => randomPool(draw, about, index))
}

function randomPool(draw: Draw, about: Subjects, index: number): Json {
  const taints = about.taints ? draw.many(0, draw.pick([0, 1, 2]), () => taint(draw)) : []
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: `pool-${index}`, creationTimestamp: now },
    spec: {
      ...draw.fields(0.6, () => ({ weight: draw.pick([1, 10, 10, 50]) })),
      ...(about.limits ? draw.fields(0.6, () => ({ limits: limits(draw) })) : {}),
      template: {
        metadata: { labels: poolLabels(draw, about) },
        spec: {
          nodeClassRef,
          requirements: poolRequirements(draw, about),
          ...(taints.length > 0 ? { taints } : {}),
          ...(about.taints ? draw.fields(0.3, () => ({ startupTaints: [taint(draw)] })) : {}),
        },
      },
    },
    ...draw.fields(0.05, () => ({
      status: { conditions: [{ type: 'Ready', status: draw.pick(['True', 'False']), lastTransitionTime: now }] },
    })),
  }
}

function poolLabels(draw: Draw, about: Subjects): Amounts {
  if (!about.customLabels) return {}
  return {
    ...draw.fields(0.4, () => ({ [teamKey]: draw.pick(teams) })),
    ...draw.fields(0.15, () => ({ [tierKey]: draw.pick(tiers) })),
  }
}

function poolRequirements(draw: Draw, about: Subjects): readonly RequirementJson[] {
  const found = [
    ...draw.maybe(0.3, () => requirementOn(draw, zoneKey, zones)),
    ...draw.maybe(0.3, () => requirementOn(draw, capacityTypeKey, capacityTypes)),
    ...(about.customLabels ? draw.maybe(0.4, () => requirementOn(draw, teamKey, teams)) : []),
    ...(about.keys ? draw.maybe(0.7, () => ({ key: teamKey, operator: 'Exists' })) : []),
    ...(about.customLabels ? draw.maybe(0.3, () => requirementOn(draw, tierKey, tiers)) : []),
    ...(about.numbers ? draw.maybe(0.3, () => numberRequirement(draw)) : []),
    ...draw.maybe(0.1, () => requirement(draw, { ...about, hostnames: false })),
  ]
  const harmless = found.map((one) =>
    one.operator === 'DoesNotExist' && one.key.includes('kubernetes') ? { ...one, operator: 'Exists' } : one,
  )
  if (!about.minValues) return harmless
  return [
    ...harmless.map((one) => ({ ...one, ...draw.fields(0.3, () => ({ minValues: draw.between(1, 3) })) })),
    ...draw.maybe(0.5, () => ({ key: typeKey, operator: 'Exists', minValues: draw.between(1, 4) })),
    ...draw.maybe(0.3, () => ({ key: sizeKey, operator: 'Exists', minValues: draw.between(1, 3) })),
  ]
}

function limits(draw: Draw): Amounts {
  return {
    ...draw.fields(0.6, () => ({ cpu: draw.pick(['0', '4', '8', '12500m', '20', '40']) })),
    ...draw.fields(0.4, () => ({ memory: draw.pick(['4Gi', '16Gi', '20G']) })),
    ...draw.fields(0.3, () => ({ nodes: draw.pick(['0', '1', '2', '3']) })),
    ...draw.fields(0.1, () => ({ 'example.com/gpu': draw.pick(['0', '1']) })),
  }
}

/** 0 to 4 DaemonSets. */
export function randomDaemons(draw: Draw, about: Subjects): readonly Json[] {
  return draw.many(0, draw.pick([0, 1, 2, 4]), (index) => {
    const labels = { daemon: `daemon-${index}` }
    return {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: `daemon-${index}`, namespace: 'kube-system', uid: `daemon-${index}` },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: daemonSpec(draw, about) } },
    }
  })
}

export function daemonSpec(draw: Draw, about: Subjects): Json {
  const requests = {
    ...draw.fields(0.8, () => ({ cpu: draw.pick(['50m', '100m', '500m', '1']) })),
    ...draw.fields(0.5, () => ({ memory: draw.pick(['64Mi', '100m', '0.5Gi']) })),
    ...(about.extended ? draw.fields(0.2, () => ({ 'example.com/gpu': draw.pick(['0', '1']) })) : {}),
  }
  const terms = draw.many(0, draw.pick([0, 1, 3]), () => ({
    matchExpressions: draw.many(1, 2, () => requirement(draw, about)),
  }))
  const ports = about.ports ? draw.maybe(0.5, () => hostPort(draw)) : []
  return {
    containers: [{ name: 'main', image: 'pause', resources: { requests }, ...(ports.length > 0 ? { ports } : {}) }],
    ...draw.fields(0.4, () => ({ tolerations: draw.many(1, 2, () => toleration(draw)) })),
    ...draw.fields(0.2, () => ({ nodeSelector: selector(requirement(draw, about)) })),
    ...(terms.length === 0
      ? {}
      : {
          affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
        }),
  }
}

/** A requirement as an entry of a node selector. */
export function selector({ key, values = ['here'] }: RequirementJson): Readonly<Record<string, string>> {
  return { [key]: values[0] ?? 'here' }
}

export function hostPort(draw: Draw): Json {
  return {
    containerPort: 80,
    hostPort: draw.pick([80, 80, 81]),
    ...draw.fields(0.3, () => ({ hostIP: draw.pick(['0.0.0.0', '10.0.0.1', '10.0.0.2', '::']) })),
    ...draw.fields(0.4, () => ({ protocol: draw.pick(['TCP', 'UDP']) })),
  }
}
