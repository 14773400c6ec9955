import { z } from 'zod'
import {
  count,
  damaged,
  type Entries,
  epochMs,
  type KeptFault,
  mapOf,
  name,
  readEntries,
  readJson,
  words,
} from '../../../api/kept/document.ts'
import {
  formatRefusal,
  longestMessage,
  mostNodes,
  type NodeRefusal,
  type NodeRefusals,
} from '../../../core/node-refusals.ts'
import { hasPassed } from '../../../core/values/time.ts'
import { type KeptSource, readConfigMap, writeConfigMap } from '../../kubernetes/client/config-map.ts'
import type { Parts } from '../../kubernetes/parts.ts'

export type RefusalStoreDeps = KeptSource & Pick<Parts, 'log' | 'now'>

export const refusalsMap = 'joiner-node-refusals'
/** Time after which a failed write is tried again. */
const retryMs = 5000

const keptRefusal: z.ZodType<NodeRefusal> = z.object({
  podClass: name,
  pod: words(600),
  nodePool: name,
  state: words(1000),
  message: words(longestMessage),
  refused: z.array(name).max(mostNodes),
  claims: mapOf(epochMs, 100),
  count,
  sinceMs: epochMs,
  untilMs: epochMs,
})

/** Returns the refusals of a ConfigMap, the oldest first. */
export function parseRefusals(data: Entries): { readonly all: NodeRefusals; readonly faults: readonly KeptFault[] } {
  const { documents, faults } = readEntries(data, (podClass, text) => {
    const read = readJson(keptRefusal, text)
    const isOther = read.kind === 'read' && read.value.podClass !== podClass
    return isOther ? damaged(`podClass is ${JSON.stringify(read.value.podClass)}, not the key`) : read
  })
  return { all: new Map([...documents].sort(([, a], [, b]) => a.sinceMs - b.sinceMs)), faults }
}

/** The ConfigMap in Joiner's namespace that holds refusals, an entry for each class. */
export class RefusalStore {
  readonly #unsaved = new Set<string>()
  #saving: Promise<void> | undefined
  #failedAt = Number.NEGATIVE_INFINITY

  /** Returns what planners wrote, with those of `own` that are not written yet; `own` where nothing can be read. Never fails. */
  async read({ client, namespace, note, log }: RefusalStoreDeps, own: NodeRefusals): Promise<NodeRefusals> {
    await this.#saving
    try {
      const { all: stored, faults } = parseRefusals(
        (await readConfigMap(client, { name: refusalsMap, namespace })) ?? {},
      )
      note?.(refusalsMap, faults)
      // What is no refusal would stay for ever.
      for (const { key } of faults) this.changed(key)
      return new Map([...stored, ...[...own].filter(([podClass]) => this.#unsaved.has(podClass))])
    } catch (error) {
      log.warn({ err: error }, 'failed to read refusals of nodes')
      return own
    }
  }

  /** Marks a class whose refusal is to be written, or removed. */
  changed(podClass: string): void {
    this.#unsaved.add(podClass)
  }

  /** Writes what changed. Never fails and never waits. */
  save(deps: RefusalStoreDeps, all: NodeRefusals): void {
    if (this.#unsaved.size === 0 || !hasPassed(retryMs, this.#failedAt, deps.now())) return
    this.#saving ??= this.#write(deps, all).finally(() => {
      this.#saving = undefined
    })
  }

  async #write({ client, namespace, log, now }: RefusalStoreDeps, all: NodeRefusals): Promise<void> {
    const classes = [...this.#unsaved]
    this.#unsaved.clear()
    const entries = classes.map((podClass) => {
      const one = all.get(podClass)
      return [podClass, one === undefined ? null : formatRefusal(one)] as const
    })
    try {
      await writeConfigMap(client, { name: refusalsMap, namespace }, Object.fromEntries(entries))
    } catch (error) {
      for (const podClass of classes) this.#unsaved.add(podClass)
      this.#failedAt = now()
      log.warn({ err: error }, 'failed to write refusals of nodes, retrying')
    }
  }
}
