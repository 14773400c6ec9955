import type { Pod } from '../../core/objects.ts'
import { isReschedulable } from '../../core/pods/pod-rules.ts'
import { preparedPods, storageOf } from '../../core/scheduling/cluster.ts'
import type { SchedulingOptions, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import type { Removal, WhatIfLimits } from '../../core/scheduling/what-if.ts'
import { readScenario } from '../../starter/cli/simulate/scenario.ts'
import { clusterObjects, type Json, withMetadata, withStatus } from '../../starter/files/cluster-objects.ts'
import type { VectorScenario } from '../vectors/scheduling.ts'
import { Draw } from './draw.ts'
import { now } from './vocabulary.ts'

export interface Question {
  readonly removed: readonly Removal[]
  readonly limits: WhatIfLimits
}

export interface Imagined {
  readonly snapshot: SchedulingSnapshot
  readonly options: SchedulingOptions
  readonly questions: readonly Question[]
}

/** The cluster with its nodes, and all that is on them, so many times. */
export function crowded(scenario: VectorScenario, times: number): VectorScenario {
  const objects = scenario.objects as readonly Json[]
  const copies = objects.filter(isOfNode).flatMap((object) =>
    Array.from({ length: times - 1 }, (_, copy) => {
      const { uid: _uid, ...metadata } = object['metadata'] as Json
      const text = JSON.stringify({ ...object, metadata }).replaceAll(/\bnode-(\d)/g, `node-$1-${copy}`)
      return JSON.parse(text) as Json
    }),
  )
  return { ...scenario, objects: [...objects, ...copies] }
}

function isOfNode({ kind, spec }: Json): boolean {
  if (kind === 'Pod') return (spec as Json)['nodeName'] !== undefined
  return kind === 'Node' || kind === 'NodeClaim' || kind === 'CSINode'
}

/** What-ifs about the nodes of a cluster, several about the same ones: the same for the same seed. */
export function randomQuestions(scenario: VectorScenario, seed: number): Imagined {
  const draw = new Draw(seed)
  const { snapshot: read, options } = readScenario(scenario)
  const moving = new Map(read.nodes.map((place) => [place, place.pods.filter((pod) => isReschedulable(pod))]))
  const prepared = prepare(scenario, draw, options, [...moving.values()].flat())
  const byUid = new Map(prepared.pods.map((pod) => [pod.metadata.uid, pod]))
  const snapshot = { ...read, podVolumes: new Map([...(read.podVolumes ?? []), ...(prepared.podVolumes ?? [])]) }
  const removals = snapshot.nodes.map((place) => ({
    place,
    moving: (moving.get(place) ?? []).flatMap(({ metadata: { uid } }) => byUid.get(uid) ?? []),
  }))
  return {
    snapshot,
    options: { ...options, ...draw.fields(0.5, () => ({ reservedOfferings: 'Fallback' as const })) },
    questions: draw.many(2, 5, () => question(draw, removals)),
  }
}

/** Some of the pods run, others have not started yet. */
function prepare(scenario: VectorScenario, draw: Draw, options: SchedulingOptions, pods: readonly Pod[]) {
  const objects = clusterObjects((scenario.objects as Json[]).map((one) => withStatus(withMetadata(one, now))))
  const running = pods.map((pod) => ({ ...pod, phase: draw.pick(['Running', 'Running', 'Pending'] as const) }))
  const { options: given = {} } = scenario as { readonly options?: { readonly schedulerConfig?: SpreadConfig } }
  return preparedPods(running, { ...objects, storage: storageOf(objects) }, {
    now: Date.parse(now),
    wellKnownLabels: options.wellKnownLabels,
    defaultSpread: given.schedulerConfig?.podTopologySpread?.defaultConstraints ?? [],
  } as Parameters<typeof preparedPods>[2])
}

interface SpreadConfig {
  readonly podTopologySpread?: {
    readonly defaultConstraints?: NonNullable<Parameters<typeof preparedPods>[2]['defaultSpread']>
  }
}

function question(draw: Draw, removals: readonly Removal[]): Question {
  const names = removals.map(({ place: { name } }) => name)
  return {
    removed: removals.length === 0 ? [] : draw.someOf(removals, draw.pick([0.2, 0.5, 0.9])),
    limits: {
      ...draw.fields(0.4, () => ({ closed: new Set(draw.some(names)) })),
      ...draw.fields(0.2, () => ({ maxNewClaims: draw.below(3) })),
    },
  }
}
