import {
  decodeCapacityBuffer,
  decodePodTemplate,
  decodeWorkload,
} from '../../../activities/kubernetes/cache/decode-buffer.ts'
import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { bufferPlaces, provisioningCondition } from '../../../core/capacity-buffer/buffer-plan.ts'
import type { BufferStatus, CapacityBuffer } from '../../../core/capacity-buffer/capacity-buffer.ts'
import { resolveBuffer, resolvedStatus } from '../../../core/capacity-buffer/resolve-buffer.ts'
import { type VirtualPodJson, virtualPods } from '../../../core/capacity-buffer/virtual-pods.ts'
import { withCondition } from '../../../core/conditions.ts'
import type { Pod } from '../../../core/objects.ts'
import { formatResources } from '../../../core/resources.ts'
import { readScenario } from '../../../starter/cli/simulate/scenario.ts'
import { schedule } from '../../samples/schedule.ts'
import type { InstanceTypeInput } from '../instance-types.ts'
import { type ObjectInput, withDefaults } from './objects.ts'

interface Reference {
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

interface BufferInput {
  readonly now: string
  readonly provision?: boolean
  readonly instanceTypes?: readonly InstanceTypeInput[]
  readonly wellKnownLabels?: readonly string[]
  readonly steps: readonly { readonly apply?: readonly ObjectInput[]; readonly delete?: readonly Reference[] }[]
}

const keyOf = ({ kind, namespace, name }: Reference) => `${kind}/${namespace ?? ''}/${name}`

/** Answers a case of CapacityBuffers: all steps run on one world. */
export function evaluateBuffer(input: BufferInput) {
  const world = new BufferWorld(input)
  return { steps: input.steps.map((step) => world.step(step)) }
}

class BufferWorld {
  readonly #input: BufferInput
  readonly #objects = new Map<string, ObjectInput>()
  readonly #statuses = new Map<string, BufferStatus>()
  /** Those of the last resolution, by the buffer's key. */
  #pods = new Map<string, readonly VirtualPodJson[]>()
  readonly #claims: object[] = []

  constructor(input: BufferInput) {
    this.#input = input
  }

  step(step: BufferInput['steps'][number]) {
    const deleted = (step.delete ?? []).map(keyOf)
    for (const key of deleted) {
      this.#objects.delete(key)
      this.#statuses.delete(key)
    }
    for (const object of step.apply ?? []) this.#objects.set(keyOf({ kind: object.kind, ...object.metadata }), object)
    const resolved = new Set(deleted.filter((key) => key.startsWith('CapacityBuffer/')))
    this.#pods = new Map()
    for (const [key, buffer] of this.#buffers()) {
      this.#resolve(key, buffer)
      resolved.add(key)
    }
    const provisioning = this.#input.provision === true ? this.#provision() : undefined
    return {
      buffers: Object.fromEntries(
        [...resolved].map((key) => {
          const status = this.#statuses.get(key)
          return [shortKey(key), status === undefined ? {} : { status: shownStatus(status) }]
        }),
      ),
      virtualPods: Object.fromEntries(
        [...this.#pods].filter(([, pods]) => pods.length > 0).map(([key, pods]) => [shortKey(key), shownPods(pods)]),
      ),
      ...(provisioning === undefined ? {} : { provisioning }),
    }
  }

  #buffers(): readonly (readonly [string, CapacityBuffer])[] {
    return [...this.#objects]
      .filter(([, { kind }]) => kind === 'CapacityBuffer')
      .map(([key, object]) => {
        const buffer = decodeCapacityBuffer(withDefaults(object, this.#input.now))
        return [key, { ...buffer, status: this.#statuses.get(key) ?? buffer.status }] as const
      })
      .sort(([a], [b]) => (a < b ? -1 : 1))
  }

  #json(kind: string, namespace: string, name: string): Json | undefined {
    const object = this.#objects.get(keyOf({ kind, namespace, name }))
    return object && withDefaults(object, this.#input.now)
  }

  #resolve(key: string, buffer: CapacityBuffer): void {
    const resolution = resolveBuffer(buffer, {
      podTemplate: (namespace, name) => optional(this.#json('PodTemplate', namespace, name), decodePodTemplate),
      workload: (kind, namespace, name) => optional(this.#json(kind, namespace, name), decodeWorkload),
    })
    this.#statuses.set(key, resolvedStatus(buffer, resolution, this.#context(buffer)))
    if (resolution.kind === 'resolved')
      this.#pods.set(key, virtualPods(buffer, resolution.found.template, resolution.replicas))
  }

  #context({ metadata }: CapacityBuffer) {
    return { now: this.#input.now, generation: metadata.generation ?? 1 }
  }

  #provision() {
    const { now, instanceTypes = [], wellKnownLabels = [] } = this.#input
    const pods = [...this.#pods.values()].flat()
    const objects = [...this.#objects.values()].filter(({ kind }) => ['NodePool', 'NodeClaim', 'Node'].includes(kind))
    if (!objects.some(({ kind }) => kind === 'NodePool')) return { newNodeClaims: [], bufferPodsOnNodes: {} }
    const { snapshot, options } = readScenario({ now, instanceTypes, wellKnownLabels, objects: [...objects, ...pods] })
    const plan = schedule(snapshot, options)
    const virtual = new Set(pods.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`))
    const places = bufferPlaces(plan, ({ metadata }: Pod) => virtual.has(`${metadata.namespace}/${metadata.name}`))
    for (const [key, buffer] of this.#buffers()) {
      const names = (this.#pods.get(key) ?? []).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
      const change = provisioningCondition(buffer, names, places)
      const conditions = withCondition(buffer.status.conditions, change, this.#context(buffer))
      this.#statuses.set(key, { ...buffer.status, conditions })
    }
    this.#claims.push(
      ...plan.newNodeClaims.map(({ nodePool, requests }) => ({ nodePool, requests: formatResources(requests) })),
    )
    return {
      newNodeClaims: [...this.#claims].sort((a, b) => (claimText(a) < claimText(b) ? -1 : 1)),
      bufferPodsOnNodes: Object.fromEntries(places.counts),
    }
  }
}

const shortKey = (key: string) => key.slice(key.indexOf('/') + 1)

function optional<T>(json: Json | undefined, decode: (json: Json) => T): T | undefined {
  return json === undefined ? undefined : decode(json)
}

function claimText(claim: object): string {
  const { nodePool, requests } = claim as { nodePool: string; requests: Record<string, string> }
  return `${nodePool} ${Object.entries(requests)
    .map((pair) => pair.join('='))
    .sort()
    .join(' ')}`
}

function shownStatus({ replicas, podTemplate, podTemplateGeneration, provisioningStrategy, conditions }: BufferStatus) {
  return {
    replicas,
    podTemplateRef: podTemplate,
    podTemplateGeneration,
    provisioningStrategy,
    conditions: Object.fromEntries(
      conditions.map(({ type, status, reason, message, observedGeneration }) => [
        type,
        { status, reason, message, observedGeneration },
      ]),
    ),
  }
}

interface ShownSpec {
  readonly priority: number
  readonly nodeName?: string
  readonly nodeSelector?: Record<string, string>
  readonly volumes?: readonly { readonly name: string }[]
  readonly tolerations?: readonly unknown[]
  readonly schedulingGates?: readonly unknown[]
  readonly containers?: readonly ShownContainer[]
  readonly initContainers?: readonly ShownContainer[]
}

interface ShownContainer {
  readonly name: string
  readonly volumeMounts?: readonly { readonly name: string }[]
}

function shownPods(pods: readonly VirtualPodJson[]) {
  const first = pods[0] as VirtualPodJson
  const spec = first.spec as unknown as ShownSpec
  const pod = decodePod(first as unknown as Json)
  return {
    names: pods.map(({ metadata }) => metadata.name),
    uids: pods.map(({ metadata }) => metadata.uid),
    first: {
      namespace: first.metadata.namespace,
      labels: first.metadata.labels,
      annotations: first.metadata.annotations,
      priority: spec.priority,
      nodeName: spec.nodeName ?? '',
      nodeSelector: spec.nodeSelector,
      requests: formatResources(pod.requests),
      volumes: (spec.volumes ?? []).map(({ name }) => name),
      volumeMounts: Object.fromEntries(
        [...(spec.initContainers ?? []), ...(spec.containers ?? [])].map(({ name, volumeMounts = [] }) => [
          name,
          volumeMounts.map((mount) => mount.name),
        ]),
      ),
      tolerations: (spec.tolerations ?? []).length,
      schedulingGates: (spec.schedulingGates ?? []).length,
    },
  }
}
