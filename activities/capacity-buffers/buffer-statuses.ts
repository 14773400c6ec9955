import { isDeepStrictEqual } from 'node:util'
import { type BufferPlaces, provisioningCondition } from '../../core/capacity-buffer/buffer-plan.ts'
import type { BufferStatus, CapacityBuffer } from '../../core/capacity-buffer/capacity-buffer.ts'
import { resolvedStatus } from '../../core/capacity-buffer/resolve-buffer.ts'
import { conditionOwner, isTrue, withCondition } from '../../core/conditions.ts'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import { forEachOf } from '../concurrency.ts'
import { decodeCapacityBuffer } from '../kubernetes/cache/decode-buffer.ts'
import { keyOf } from '../kubernetes/cache/object-key.ts'
import { getIfAny } from '../kubernetes/client/answers.ts'
import type { KubernetesClient } from '../kubernetes/client/client.ts'
import { lockedPatch, writeOptimistically } from '../kubernetes/client/optimistic-write.ts'
import { resourcePath } from '../kubernetes/client/resources.ts'
import type { Parts } from '../kubernetes/parts.ts'
import type { BufferState } from './buffer-states.ts'

export interface BufferStatusesDeps extends Pick<Parts, 'cache' | 'log' | 'now'> {
  readonly client: Pick<KubernetesClient, 'get' | 'inTurn' | 'patchStatus'>
}

/** Where the last pass put virtual pods, and why one of each buffer's has no place, by the buffer's key. */
export interface Placed {
  readonly places: BufferPlaces
  readonly causes: ReadonlyMap<string, string>
}

const nowhere: BufferPlaces = { onNodes: new Set(), onNewClaims: new Set(), counts: new Map() }
const concurrency = 4

/** Keeps the statuses of buffers. Planning never waits for it and never fails by it: what could not be written is written after the next pass. */
export class BufferStatuses {
  readonly #deps: BufferStatusesDeps
  /** The last pass, by the list of pods that it placed. */
  readonly #placed = new WeakMap<readonly Pod[], Placed>()
  #waiting: ReadonlyMap<string, BufferState> | undefined
  #writing: Promise<void> | undefined

  constructor(deps: BufferStatusesDeps) {
    this.#deps = deps
  }

  /** Records a pass over the pods of these buffers. */
  placed(states: ReadonlyMap<string, BufferState>, placed: Placed): void {
    for (const { pods } of states.values()) if (pods.length > 0) this.#placed.set(pods, placed)
  }

  /** Writes the statuses that differ, after those that are being written. */
  write(states: ReadonlyMap<string, BufferState>): void {
    this.#waiting = states
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
  }

  /** Resolves when no write is under way. */
  async settled(): Promise<void> {
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting !== undefined) {
      const states = this.#waiting
      this.#waiting = undefined
      await forEachOf([...states.values()], concurrency, async (state) => {
        try {
          await this.#writeOne(state)
        } catch (error) {
          this.#deps.log.warn(
            { capacityBuffer: keyOf(state.buffer.metadata), err: error },
            'failed to write status of CapacityBuffer, the next pass retries',
          )
        }
      })
    }
  }

  async #writeOne(state: BufferState): Promise<void> {
    const { client, cache } = this.#deps
    const { name, namespace = 'default', uid, generation } = state.buffer.metadata
    const path = resourcePath('capacitybuffers', name, namespace)
    await writeOptimistically<CapacityBuffer>({
      inTurn: (section) => client.inTurn(path, section),
      cached: () => cache.capacityBuffers.get(`${namespace}/${name}`),
      live: async () => {
        const json = await getIfAny(client, path)
        if (json === undefined) return undefined
        cache.upsert('CapacityBuffer', json)
        return decodeCapacityBuffer(json)
      },
      write: (current) => {
        const { metadata } = current
        // Another spec is resolved for itself.
        if (metadata.uid !== uid || metadata.generation !== generation) return undefined
        const status = this.#statusOf({ ...state, buffer: current })
        if (isDeepStrictEqual(status, current.status)) return undefined
        return client.patchStatus(path, lockedPatch({ status: statusJson(status) }, metadata)).then((json) => {
          cache.upsert('CapacityBuffer', json)
          return decodeCapacityBuffer(json)
        })
      },
    })
  }

  #statusOf({ buffer, resolution, pods, unplanned }: BufferState): BufferStatus {
    const owner = conditionOwner(buffer.metadata, this.#deps.now())
    const status = resolvedStatus(buffer, resolution, owner)
    const placed = unplanned === undefined ? this.#placed.get(pods) : { places: nowhere, causes: new Map() }
    const isOver = !isTrue(status.conditions, 'ReadyForProvisioning') || (pods.length === 0 && unplanned === undefined)
    // A pass with the present pods is still to come, and says where they are.
    if (placed === undefined && !isOver) return status
    const names = unplanned === undefined ? pods.map(podName) : Array.from({ length: status.replicas ?? 0 }, String)
    const why = unplanned ?? placed?.causes.get(keyOf(buffer.metadata))
    const places = { ...(placed?.places ?? nowhere), ...(why === undefined ? {} : { why }) }
    const change = provisioningCondition({ ...buffer, status }, names, places)
    return { ...status, conditions: withCondition(status.conditions, change, owner) }
  }
}

/** Returns the status as a merge patch: fields that it lacks are removed. */
function statusJson({ provisioningStrategy, podTemplate, podTemplateGeneration, replicas, conditions }: BufferStatus) {
  return {
    provisioningStrategy: provisioningStrategy ?? null,
    podTemplateRef: podTemplate === undefined ? null : { name: podTemplate },
    podTemplateGeneration: podTemplateGeneration ?? null,
    replicas: replicas ?? null,
    conditions,
  }
}
