import { isConflict, isNotFound, type Json, type KubernetesClient } from '../kubernetes/client.ts'
import { resourcePath } from '../kubernetes/resources.ts'
import type { MarkScope } from './azure-error.ts'
import { covers, type Mark, marksFor, type OfferingId, parseMark } from './mark.ts'

const configMapName = 'joiner-unavailable-offerings'
/** Another replica's marks are seen at the latest after this time. */
const rereadMs = 2000

/**
 * Marks on offerings that Azure refused, kept in one ConfigMap so that every replica and every restart knows them.
 * A mark speaks of the refused size and all larger ones of its family (reference/azure-provider.md 3.8).
 */
export class UnavailableOfferings {
  readonly #client: KubernetesClient
  readonly #namespace: string
  readonly #now: () => number
  #marks: ReadonlyMap<string, Mark> = new Map()
  #readAt = Number.NEGATIVE_INFINITY
  #version = 0

  constructor(client: KubernetesClient, namespace: string, now: () => number) {
    this.#client = client
    this.#namespace = namespace
    this.#now = now
  }

  /** Changes whenever a mark was added, changed or ran out: what was computed from the marks is stale then. */
  get version(): number {
    this.#expire()
    return this.#version
  }

  /** Whether a refusal that has not run out speaks of the offering. */
  isMarked(offering: OfferingId): boolean {
    const now = this.#now()
    for (const mark of this.#marks.values()) if (mark.untilMs > now && covers(mark, offering)) return true
    return false
  }

  /** Reads the marks unless they were read a moment ago. */
  async refresh(): Promise<void> {
    if (this.#now() - this.#readAt < rereadMs) return
    this.#take((await this.#read())?.data ?? {})
  }

  /** Marks the offerings that a refusal speaks of. Two replicas that mark at once lose nothing: the write is locked and repeated. */
  async mark(
    offering: OfferingId,
    scope: MarkScope,
    options: { readonly ttlMs: number; readonly reason: string; readonly zones: readonly string[] },
  ): Promise<void> {
    const added = marksFor(offering, scope, { ...options, untilMs: this.#now() + options.ttlMs })
    if (added.size === 0) return
    for (let attempt = 1; ; attempt++) {
      const map = await this.#read()
      const kept = Object.entries(map?.data ?? {}).filter(([, text]) => (parseMark(text)?.untilMs ?? 0) > this.#now())
      const data = {
        ...Object.fromEntries(kept),
        ...Object.fromEntries([...added].map(([key, mark]) => [key, JSON.stringify(mark)])),
      }
      try {
        await this.#write(map?.resourceVersion, map?.data ?? {}, data)
        this.#take(data)
        return
      } catch (error) {
        if (!isConflict(error) || attempt >= 8) throw error
      }
    }
  }

  async #read(): Promise<
    { readonly resourceVersion: string; readonly data: Readonly<Record<string, string>> } | undefined
  > {
    try {
      const map = await this.#client.get(resourcePath('configmaps', configMapName, this.#namespace))
      return {
        resourceVersion: (map['metadata'] as { resourceVersion: string }).resourceVersion,
        data: (map['data'] ?? {}) as Record<string, string>,
      }
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  async #write(
    resourceVersion: string | undefined,
    before: Readonly<Record<string, string>>,
    data: Record<string, string>,
  ): Promise<void> {
    const metadata: Json = { name: configMapName, namespace: this.#namespace }
    if (resourceVersion === undefined) {
      await this.#client.create(resourcePath('configmaps', undefined, this.#namespace), {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata,
        data,
      })
      return
    }
    const removed = Object.fromEntries(
      Object.keys(before)
        .filter((key) => data[key] === undefined)
        .map((key) => [key, null]),
    )
    await this.#client.mergePatch(resourcePath('configmaps', configMapName, this.#namespace), {
      metadata: { resourceVersion },
      data: { ...removed, ...data },
    })
  }

  #take(data: Readonly<Record<string, string>>): void {
    this.#readAt = this.#now()
    const marks = new Map<string, Mark>()
    for (const [key, text] of Object.entries(data)) {
      const mark = parseMark(text)
      if (mark !== undefined && mark.untilMs > this.#now()) marks.set(key, mark)
    }
    const changed =
      marks.size !== this.#marks.size ||
      [...marks].some(([key, mark]) => this.#marks.get(key)?.untilMs !== mark.untilMs)
    this.#marks = marks
    if (changed) this.#version += 1
  }

  #expire(): void {
    const now = this.#now()
    const live = [...this.#marks].filter(([, mark]) => mark.untilMs > now)
    if (live.length === this.#marks.size) return
    this.#marks = new Map(live)
    this.#version += 1
  }
}
