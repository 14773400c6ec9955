import type { Logger } from 'pino'
import { formatRefusal, type NodeRefusals, parseRefusals } from '../../../core/node-refusals.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { readConfigMap, writeConfigMap } from '../../kubernetes/client/config-map.ts'

export interface RefusalStoreDeps {
  readonly client: KubernetesClient
  readonly namespace: string
  readonly log: Logger
  /** Epoch milliseconds. */
  readonly now: () => number
}

const name = 'joiner-node-refusals'
/** Time after which a failed write is tried again. */
const retryMs = 5000

/** The ConfigMap in Joiner's namespace that holds refusals, an entry for each class. */
export class RefusalStore {
  readonly #unsaved = new Set<string>()
  #saving: Promise<void> | undefined
  #retryAt = 0

  /** Returns what planners wrote, with those of `own` that are not written yet; `own` where nothing can be read. Never fails. */
  async read({ client, namespace, log }: RefusalStoreDeps, own: NodeRefusals): Promise<NodeRefusals> {
    await this.#saving
    try {
      const stored = parseRefusals(Object.values((await readConfigMap(client, { name, namespace })) ?? {}))
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
    if (this.#unsaved.size === 0 || deps.now() < this.#retryAt) return
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
      await writeConfigMap(client, { name, namespace }, Object.fromEntries(entries))
    } catch (error) {
      for (const podClass of classes) this.#unsaved.add(podClass)
      this.#retryAt = now() + retryMs
      log.warn({ err: error }, 'failed to write refusals of nodes, retrying')
    }
  }
}
