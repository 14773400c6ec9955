import { describe, expect, it } from 'vitest'
import { allocatableGroups } from '../../core/instance-type.ts'
import type { ContainerPort, Pod, Taint } from '../../core/objects.ts'
import { hostPortConflict } from '../../core/pods/host-ports.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { labels } from '../../core/requirements/labels.ts'
import {
  podRequirements,
  type Requirements,
  requirements,
  requirementsOfLabels,
  sharedKeysIntersect,
} from '../../core/requirements/requirements.ts'
import { fits, mergeResources, type Resources } from '../../core/resources.ts'
import type { SchedulingPlan, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'
import { selects } from '../../core/scheduling/topology/label-selector.ts'
import { untolerated } from '../../core/taints.ts'
import { readScenario } from '../../starter/cli/simulate/scenario.ts'
import { type Scenario } from '../../starter/files/taking-part.ts'
import { schedulePlainly } from '../plain-scheduler/schedule.ts'
import { schedule } from '../samples/schedule.ts'
import type { Solver } from '../vectors/scheduling.ts'
import { randomCluster } from './random-clusters.ts'
import { seeds } from './seeds.ts'

const scenarios = seeds.map((seed) => readScenario(randomCluster(seed * 7)))

/** The plan after so many attempts. */
function stoppedAfter(attempts: number, { snapshot, options }: Scenario, solve: Solver = schedule): SchedulingPlan {
  let asked = 0
  return solve(snapshot, { ...options, shouldStop: () => asked++ >= attempts })
}

const names = (pods: readonly Pod[]) => pods.map(podName).sort()

/** Where each pod went: which pods are together on what. */
function places({ newNodeClaims, existing }: SchedulingPlan): readonly string[] {
  return [
    ...newNodeClaims.map(({ nodePool, instanceTypes, pods }) => JSON.stringify([nodePool, instanceTypes, names(pods)])),
    ...existing.map(({ node, pods }) => JSON.stringify([node, names(pods)])),
  ].sort()
}

const placedPods = ({ newNodeClaims, existing }: SchedulingPlan) =>
  names([...newNodeClaims, ...existing].flatMap(({ pods }) => pods))

describe('a pass that is stopped', () => {
  it('leaves the plan that the plain rules have after as many attempts', { timeout: 30_000 }, () => {
    for (const scenario of scenarios.slice(0, 150)) {
      for (const attempts of [0, 1, 2, 5, 9, 14]) {
        const fast = stoppedAfter(attempts, scenario)
        const plain = stoppedAfter(attempts, scenario, schedulePlainly)
        expect(places(fast)).toEqual(places(plain))
        expect(names(fast.unschedulable.map(({ pod }) => pod))).toEqual(
          names(plain.unschedulable.map(({ pod }) => pod)),
        )
        expect(fast.stopped).toBe(plain.stopped)
      }
    }
  })

  it('loses no pod and moves none: each attempt places one more or none', { timeout: 30_000 }, () => {
    for (const scenario of scenarios.slice(0, 100)) {
      let before: readonly string[] = []
      for (let attempts = 0; attempts < 40; attempts++) {
        const plan = stoppedAfter(attempts, scenario)
        const placed = placedPods(plan)
        const failed = names(plan.unschedulable.map(({ pod }) => pod))
        expect(placed).toEqual(expect.arrayContaining([...before]))
        expect(placed.length - before.length).toBeLessThanOrEqual(1)
        expect(new Set([...placed, ...failed]).size).toBe(placed.length + failed.length)
        if (!plan.stopped) {
          const all = [...scenario.snapshot.pods, ...(scenario.snapshot.ignored?.keys() ?? [])]
          expect([...placed, ...failed].sort()).toEqual(names(all))
          break
        }
        before = placed
      }
    }
  })
})

/** Somewhere pods were put together. */
interface Filled {
  readonly pods: readonly Pod[]
  readonly taints: readonly Taint[]
  readonly requirements: Requirements
  readonly usedPorts: readonly ContainerPort[]
  /** What it may turn out to have for pods; it must do in each case, with one of the amounts. */
  readonly room: readonly (readonly Resources[])[]
}

function filledPlaces({ nodes, nodePools }: SchedulingSnapshot, plan: SchedulingPlan): readonly Filled[] {
  const claims = plan.newNodeClaims.map((claim) => {
    const pool = nodePools.find(({ nodePool }) => nodePool.metadata.name === claim.nodePool)
    const named = new Set(claim.instanceTypes)
    const types = (pool?.instanceTypes ?? []).filter(({ name }) => named.has(name))
    return {
      pods: claim.pods,
      taints: pool?.nodePool.template.spec.taints ?? [],
      requirements: requirements(claim.requirements),
      usedPorts: [],
      room: types.map((type) => allocatableGroups(type).map(({ allocatable }) => allocatable)),
    }
  })
  const existing = plan.existing.map(({ node: name, pods }) => {
    const node = nodes.find((one) => one.name === name)
    if (node === undefined) throw new Error(`the plan names ${name}, which is no place`)
    return {
      pods,
      taints: node.taints,
      requirements: requirementsOfLabels({ ...node.labels, [labels.hostname]: node.hostname }),
      usedPorts: node.pods.flatMap(({ hostPorts }) => hostPorts),
      room: [[node.available]],
    }
  })
  return [...claims, ...existing]
}

/** What is wrong with the pods of a place, told by simple sums and comparisons; none: nothing. */
function problems({ pods, taints, requirements: own, usedPorts, room }: Filled): readonly string[] {
  const total = mergeResources(...pods.map(({ requests }) => requests))
  const hard = taints.filter(({ effect }) => effect !== 'PreferNoSchedule')
  return [
    ...(room.every((amounts) => amounts.some((amount) => fits(total, amount))) ? [] : ['too much']),
    ...pods.filter(({ tolerations }) => untolerated(hard, tolerations).length > 0).map(() => 'tainted'),
    ...pods.filter((pod) => !requiredTerms(pod).some((wanted) => sharedKeysIntersect(own, wanted))).map(() => 'labels'),
    ...pods.flatMap((pod, at) => {
      const others = [...usedPorts, ...pods.slice(0, at).flatMap(({ hostPorts }) => hostPorts)]
      return hostPortConflict(others, pod.hostPorts) ?? []
    }),
    ...pods.flatMap((pod) => pods.filter((other) => other !== pod && keepsAway(pod, other)).map(() => 'together')),
  ]
}

/** Whatever terms are given up, one of them holds. */
function requiredTerms(pod: Pod): readonly Requirements[] {
  const terms = pod.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  if (terms.length === 0) return [podRequirements(pod, { strict: true })]
  return terms.map((term) =>
    podRequirements(
      {
        nodeSelector: pod.nodeSelector,
        affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } },
      },
      { strict: true },
    ),
  )
}

/** Whether a pod requires that no pod like the other is on its node, as far as that does not need other namespaces. */
function keepsAway(pod: Pod, other: Pod): boolean {
  const terms = pod.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []
  return terms.some(
    ({ topologyKey, namespaces = [], namespaceSelector, labelSelector }) =>
      topologyKey === labels.hostname &&
      namespaces.length === 0 &&
      namespaceSelector === undefined &&
      pod.metadata.namespace === other.metadata.namespace &&
      selects(labelSelector, other.metadata.labels),
  )
}

describe('a plan', () => {
  it('puts no pod where there is no room, or where its taints, labels, ports and neighbours forbid it', {
    timeout: 30_000,
  }, () => {
    let looked = 0
    for (const { snapshot, options } of scenarios) {
      // Pods whose volumes cannot be looked up are placed before their rules are known.
      if ([...(snapshot.podVolumes?.values() ?? [])].some(({ lookupFailed }) => lookupFailed === true)) continue
      for (const place of filledPlaces(snapshot, schedule(snapshot, options))) {
        expect(problems(place)).toEqual([])
        looked += 1
      }
    }
    expect(looked).toBeGreaterThan(300)
  })
})
