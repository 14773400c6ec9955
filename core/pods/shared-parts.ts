import type { Condition, Pod } from '../objects.ts'
import type { Resources } from '../resources.ts'

/** Most characters of all parts that are remembered, and of one of them. */
const mostCharacters = 8_000_000
const longestPart = 4000
/** Most names that are remembered: of nodes, namespaces, phases. */
const mostTexts = 20_000

const emptyList: readonly never[] = Object.freeze([])
const emptyRecord: Readonly<Record<string, never>> = Object.freeze({})

/**
 * Parts of pods (labels, requests, tolerations, and so on) of which pods from one template have the same: each is kept once, which halves what the
 * pods of a large cluster take. What it remembers is bounded; beyond the bound it starts again, and pods share less.
 */
export class SharedParts {
  readonly #parts = new Map<string, unknown>()
  readonly #texts = new Map<string, string>()
  #characters = 0

  /** Returns an equal pod, with the parts that were seen before. */
  of(pod: Pod): Pod {
    const { metadata, affinity, nodeName, startTime, unschedulable } = pod
    const { namespace, creationTimestamp } = metadata
    return {
      ...pod,
      phase: this.#text(pod.phase),
      conditions: pod.conditions.map((condition) => this.#condition(condition, creationTimestamp)),
      ...(nodeName !== undefined && { nodeName: this.#text(nodeName) }),
      ...(startTime === creationTimestamp && { startTime: creationTimestamp }),
      ...(unschedulable && { unschedulable: { ...unschedulable, message: this.#text(unschedulable.message) } }),
      metadata: {
        ...metadata,
        ...(namespace !== undefined && { namespace: this.#text(namespace) }),
        labels: this.#shared(metadata.labels),
        annotations: this.#shared(metadata.annotations),
        finalizers: this.#shared(metadata.finalizers),
        ownerReferences: this.#shared(metadata.ownerReferences),
      },
      requests: this.#amounts(pod.requests),
      limits: this.#amounts(pod.limits),
      nodeSelector: this.#shared(pod.nodeSelector),
      tolerations: this.#shared(pod.tolerations),
      topologySpreadConstraints: this.#shared(pod.topologySpreadConstraints),
      hostPorts: this.#shared(pod.hostPorts),
      persistentVolumeClaims: this.#shared(pod.persistentVolumeClaims),
      resourceClaims: this.#shared(pod.resourceClaims),
      ...(affinity && { affinity: this.#shared(affinity) }),
    }
  }

  /** Many conditions are as old as their pod. */
  #condition({ lastTransitionTime: time, ...rest }: Condition, creationTimestamp: string): Condition {
    const { type, status, reason } = rest
    return {
      ...rest,
      type: this.#text(type),
      status: this.#text(status),
      ...(reason !== undefined && { reason: this.#text(reason) }),
      ...(time !== undefined && { lastTransitionTime: time === creationTimestamp ? creationTimestamp : time }),
    }
  }

  #text<Text extends string>(text: Text): Text {
    const known = this.#texts.get(text)
    if (known !== undefined) return known as Text
    if (this.#texts.size >= mostTexts) this.#texts.clear()
    this.#texts.set(text, text)
    return text
  }

  #shared<Part extends object>(part: Part): Part {
    if (Array.isArray(part)) {
      if (part.length === 0) return emptyList as unknown as Part
    } else if (isEmpty(part)) return emptyRecord as Part
    return this.#known(JSON.stringify(part), part)
  }

  #amounts(amounts: Resources): Resources {
    if (isEmpty(amounts)) return emptyRecord
    let key = ''
    for (const name in amounts) {
      const amount = amounts[name]
      key += `${JSON.stringify(name)}=${amount?.nano}${amount?.format};`
    }
    return this.#known(key, amounts)
  }

  #known<Part extends object>(key: string, part: Part): Part {
    const known = this.#parts.get(key)
    if (known !== undefined) return known as Part
    if (key.length > longestPart) return part
    this.#characters += key.length
    if (this.#characters > mostCharacters) {
      this.#parts.clear()
      this.#characters = key.length
    }
    this.#parts.set(key, part)
    return part
  }
}

function isEmpty(record: object): boolean {
  for (const _ in record) return false
  return true
}
