import type { Draw } from './draw.ts'
import { hostPort, selector } from './random-pools.ts'
import { claimNames } from './random-volumes.ts'
import {
  absentKey,
  apps,
  capacityTypeKey,
  hostnameKey,
  type Json,
  namespaces,
  now,
  requirement,
  type Subjects,
  teamKey,
  tierKey,
  toleration,
  versions,
  zoneKey,
} from './vocabulary.ts'

/** What pods of a group have in common. */
export interface Group {
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly spec: Json
  readonly ports: readonly Json[]
  readonly requests: Readonly<Record<string, string>>
}

/** The subjects, and the name of the pods' own kind. */
type Kind = Subjects & { readonly app: string }

export function randomGroups(draw: Draw, about: Subjects): readonly Group[] {
  return draw.many(draw.pick([1, 3]), draw.pick([3, 5, 8]), () => randomGroup(draw, about))
}

function randomGroup(draw: Draw, about: Subjects): Group {
  const app = draw.pick(apps)
  return {
    namespace: draw.chance(0.8) ? 'default' : draw.pick(namespaces),
    labels: {
      ...draw.fields(0.9, () => ({ app })),
      ...draw.fields(0.3, () => ({ version: draw.pick(versions) })),
    },
    // Most of its rules are about pods of its own kind.
    spec: groupSpec(draw, { ...about, app }),
    ports: about.ports ? draw.many(0, 2, () => hostPort(draw)) : [],
    requests: about.keys ? { cpu: draw.pick(['10m', '20m', '100m', '250m']) } : requests(draw, about),
  }
}

function requests(draw: Draw, about: Subjects): Readonly<Record<string, string>> {
  return {
    ...draw.fields(0.9, () => ({
      cpu: draw.pick(['0', '100m', '250m', '0.5', '500m', '1', '1500m', '1900m', '3', '9']),
    })),
    ...draw.fields(0.7, () => ({
      memory: draw.pick(['100m', '64Mi', '128M', '500Mi', '1Gi', '1536Mi', '2.5Gi', '1e9']),
    })),
    ...draw.fields(0.1, () => ({ 'ephemeral-storage': draw.pick(['1Gi', '30Gi']) })),
    ...(about.extended ? draw.fields(0.25, () => ({ 'example.com/gpu': draw.pick(['0', '1', '2']) })) : {}),
    ...(about.extended ? draw.fields(0.15, () => ({ 'hugepages-2Mi': draw.pick(['128Mi', '512Mi']) })) : {}),
  }
}

function groupSpec(draw: Draw, about: Kind): Json {
  const volumes = about.volumes ? draw.many(0, draw.pick([0, 1, 2]), () => draw.pick(claimNames)) : []
  const spreads = about.spreads ? draw.many(0, draw.pick([1, 1, 2, 3]), () => spread(draw, about)) : []
  return {
    ...draw.fields(0.12, () => ({ nodeSelector: selector(requirement(draw, about)) })),
    ...draw.fields(about.keys || about.affinities || about.preferences ? 0.75 : 0.25, () => ({
      affinity: affinity(draw, about),
    })),
    ...(about.taints ? draw.fields(0.75, () => ({ tolerations: draw.many(1, 4, () => toleration(draw)) })) : {}),
    ...(spreads.length > 0 ? { topologySpreadConstraints: spreads } : {}),
    ...(volumes.length > 0
      ? { volumes: volumes.map((claimName, at) => ({ name: `v${at}`, persistentVolumeClaim: { claimName } })) }
      : {}),
    ...draw.fields(0.004, () => ({ resourceClaims: [{ name: 'device' }] })),
  }
}

function affinity(draw: Draw, about: Kind): Json {
  return {
    ...draw.fields(about.keys ? 1 : 0.5, () => ({ nodeAffinity: nodeAffinity(draw, about) })),
    ...(about.affinities ? draw.fields(0.3, () => ({ podAffinity: podTerms(draw, about) })) : {}),
    ...(about.affinities ? draw.fields(0.4, () => ({ podAntiAffinity: podTerms(draw, about) })) : {}),
  }
}

function nodeAffinity(draw: Draw, about: Subjects): Json {
  const term = () => ({
    matchExpressions: draw.many(1, about.keys ? 1 : draw.pick([1, 1, 2, 3]), () => requirement(draw, about)),
  })
  const nodeSelectorTerms = draw.many(about.preferences ? 0 : 1, about.keys ? 1 : draw.pick([1, 2, 3]), term)
  const preferred = about.preferences
    ? draw.many(0, 3, () => ({ weight: draw.pick([1, 10, 10, 50]), preference: term() }))
    : []
  return {
    ...(nodeSelectorTerms.length > 0 ? { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } : {}),
    ...(preferred.length > 0 ? { preferredDuringSchedulingIgnoredDuringExecution: preferred } : {}),
  }
}

function podTerms(draw: Draw, about: Kind): Json {
  const required = draw.many(about.preferences ? 0 : 1, draw.pick([1, 1, 2]), () => podTerm(draw, about))
  const preferred = about.preferences
    ? draw.many(0, 2, () => ({ weight: draw.pick([1, 10, 10]), podAffinityTerm: podTerm(draw, about) }))
    : []
  return {
    ...(required.length > 0 ? { requiredDuringSchedulingIgnoredDuringExecution: required } : {}),
    ...(preferred.length > 0 ? { preferredDuringSchedulingIgnoredDuringExecution: preferred } : {}),
  }
}

function podTerm(draw: Draw, about: Kind): Json {
  return {
    topologyKey: topologyKey(draw, about),
    ...draw.fields(0.95, () => ({ labelSelector: labelSelector(draw, about) })),
    ...draw.fields(0.15, () => ({ namespaces: draw.someOf(namespaces) })),
    ...draw.fields(0.15, () => ({ namespaceSelector: draw.pick([{}, { matchLabels: { kind: 'cold' } }]) })),
  }
}

function topologyKey(draw: Draw, { customLabels }: Subjects): string {
  if (draw.chance(0.03)) return absentKey
  if (customLabels && draw.chance(0.2)) return draw.pick([tierKey, teamKey])
  return draw.pick([zoneKey, zoneKey, zoneKey, hostnameKey, hostnameKey, capacityTypeKey])
}

function labelSelector(draw: Draw, { app }: Kind): Json {
  if (draw.chance(0.4)) return { matchLabels: { app } }
  if (draw.chance(0.4)) return { matchLabels: { app: draw.pick(apps) } }
  if (draw.chance(0.2)) return {}
  return {
    ...draw.fields(0.3, () => ({ matchLabels: { version: draw.pick(versions) } })),
    matchExpressions: draw.many(1, 2, () => {
      const operator = draw.pick(['In', 'NotIn', 'Exists', 'DoesNotExist'])
      const takesValues = operator === 'In' || operator === 'NotIn'
      // Now and then without the values that it needs, or with some that it must not have.
      const values = takesValues !== draw.chance(0.04) ? { values: draw.someOf(apps) } : {}
      return { key: draw.pick(['app', 'app', 'version']), operator, ...values }
    }),
  }
}

function spread(draw: Draw, about: Kind): Json {
  return {
    maxSkew: draw.pick([1, 1, 1, 2]),
    topologyKey: topologyKey(draw, about),
    whenUnsatisfiable: about.preferences && draw.chance(0.5) ? 'ScheduleAnyway' : 'DoNotSchedule',
    ...draw.fields(0.95, () => ({ labelSelector: labelSelector(draw, about) })),
    ...draw.fields(0.2, () => ({ minDomains: draw.between(1, 4) })),
    ...draw.fields(0.2, () => ({ matchLabelKeys: draw.someOf(['app', 'version']) })),
    ...draw.fields(0.3, () => ({ nodeAffinityPolicy: draw.pick(['Honor', 'Ignore']) })),
    ...draw.fields(0.3, () => ({ nodeTaintsPolicy: draw.pick(['Honor', 'Ignore']) })),
  }
}

/** 1 to 25 pods that wait: most of a group like each other in all, some with requests or labels of their own. */
export function pendingPods(draw: Draw, about: Subjects, groups: readonly Group[]): readonly Json[] {
  const same = draw.pick([1, 0.9, 0.6])
  return draw.many(draw.pick([1, 5]), draw.pick([8, 15, 25]), (index) => {
    const group = draw.pick(groups)
    const own = draw.chance(same) ? group : { ...group, requests: requests(draw, about) }
    return pod(draw, own, `pod-${String(index).padStart(2, '0')}`, {})
  })
}

export function pod(
  draw: Draw,
  { namespace, labels, spec, ports, requests: asked }: Group,
  name: string,
  more: Json,
): Json {
  const resources = { requests: asked }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels,
      // Older than others, or told apart by its UID alone.
      ...draw.fields(0.2, () => ({ creationTimestamp: draw.pick(['2026-03-01T11:00:00Z', now]) })),
      ...draw.fields(0.5, () => ({ uid: draw.uid() })),
      ...draw.fields(0.3, () => ({
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'set', uid: 'set', controller: true }],
      })),
    },
    spec: {
      ...spec,
      ...more,
      containers: [{ name: 'main', image: 'pause', resources, ...(ports.length > 0 ? { ports } : {}) }],
      ...draw.fields(0.03, () => ({
        initContainers: [{ name: 'init', image: 'pause', resources: { requests: { cpu: draw.pick(['200m', '2']) } } }],
      })),
    },
  }
}
