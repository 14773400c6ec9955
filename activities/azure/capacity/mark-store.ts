import type { KeptFault } from '../../../api/kept/document.ts'
import { entryOf } from '../../../core/values/records.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { isGoneOrOther } from '../../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { type ConfigMap, type ConfigMapRef, findConfigMap, putConfigMap } from '../../kubernetes/client/config-map.ts'
import { keptMarks, type Marks, marksMap, noMarks } from './mark.ts'
import { formatMarks, parseMarks, withinBytes } from './mark-format.ts'

/** Most bytes of marks: Kubernetes accepts a ConfigMap of 1 MiB, and its metadata needs a share. */
const mostBytes = 850 * 1024
const mostConflicts = 8

/** The ConfigMap as last read. Without a version there is none. */
export interface StoredMarks {
  readonly resourceVersion?: string
  /** All entries, damaged ones included. */
  readonly data: Readonly<Record<string, string>>
  readonly marks: Marks
  /** What is damaged of them. */
  readonly faults: readonly KeptFault[]
}

export const nothingStored: StoredMarks = { data: {}, marks: noMarks, faults: [] }

/** The one ConfigMap in which all replicas keep their marks. */
export class MarkStore {
  readonly #client: KubernetesClient
  readonly #now: () => number
  /** The rights of the chart name it. */
  readonly ref: ConfigMapRef

  constructor(client: KubernetesClient, namespace: string, now: () => number) {
    this.#client = client
    this.#now = now
    this.ref = { name: marksMap, namespace }
  }

  async read(): Promise<StoredMarks> {
    const map = await findConfigMap(this.#client, this.ref)
    return map === undefined ? nothingStored : storedMarks(map)
  }

  /**
   * Changes the marks under an optimistic lock: one request when nobody else wrote since `base`. Marks that are over and damaged
   * entries are removed on the way. Errors: what the API server says, a lock that was lost eight times included.
   */
  async change(base: StoredMarks | undefined, decide: (marks: Marks) => Marks): Promise<StoredMarks> {
    let stored = base ?? (await this.read())
    for (let attempt = 1; ; attempt++) {
      const wanted = withinBytes(decide(keptMarks(stored.marks, this.#now())), mostBytes)
      const changes = changesBetween(stored.data, formatMarks(wanted))
      if (Object.keys(changes).length === 0) return stored
      try {
        const place = { ...this.ref, version: stored.resourceVersion }
        return storedMarks(await putConfigMap(this.#client, place, { data: changes }))
      } catch (error) {
        // Not found: a user deleted it since it was read.
        if (!isGoneOrOther(error) || attempt >= mostConflicts) throw error
      }
      stored = await this.read()
    }
  }
}

/** The ConfigMap as it travels. */
export function storedMarks(map: Json): StoredMarks {
  const { metadata, data = {} } = map as ConfigMap
  return { resourceVersion: metadata.resourceVersion, data, ...parseMarks(data) }
}

function changesBetween(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): Record<string, string | null> {
  const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  return {
    ...Object.fromEntries(removed.map((key) => [key, null])),
    ...Object.fromEntries(Object.entries(after).filter(([key, text]) => entryOf(before, key) !== text)),
  }
}
