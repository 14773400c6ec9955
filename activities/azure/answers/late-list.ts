import { hostname } from 'node:os'
import { Gauge, type Registry } from 'prom-client'
import { z } from 'zod'
import {
  type Entries,
  epochMs,
  name as kubernetesName,
  readEntries,
  readJson,
  words,
} from '../../../api/kept/document.ts'
import { printableStart } from '../../../core/values/printable.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { type KeptSource, readConfigMap, writeConfigMap } from '../../kubernetes/client/config-map.ts'
import type { Parts } from '../../kubernetes/parts.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'

/** ConfigMap with the shared lists that are late, for `joiner status`. */
const lateListsMap = 'joiner-late-lists'
/** Lists come each few seconds while something waits for them. */
const lateAfterMs = 60_000
/** An entry that was not written again since then is of a process that has ended. */
const staleAfterMs = 3 * lateAfterMs

/** A list of Azure's that waits share and that does not come. */
export interface LateEntry {
  readonly list: string
  /** Since when no list came, and when this was written: epoch ms. */
  readonly sinceMs: number
  readonly atMs: number
  readonly process: string
  readonly why: string
}

const keptEntry: z.ZodType<LateEntry> = z
  .object({ list: kubernetesName, sinceMs: epochMs, atMs: epochMs, process: kubernetesName, why: words(5000) })
  .refine(({ sinceMs, atMs }) => sinceMs <= atMs, { path: ['sinceMs'], error: 'a time before atMs is right' })

interface LateListDeps extends Pick<Parts, 'log' | 'now'> {
  /** Sets or removes the entry. Unset: it is only logged and measured. */
  readonly store?: (name: string, entry: LateEntry | undefined) => Promise<unknown>
}

/** How long a list has been needed that does not come. It is reported once it is late, and each minute after. */
export class LateList {
  readonly name: string
  readonly #deps: LateListDeps
  #sinceMs: number | undefined
  #timer: NodeJS.Timeout | undefined
  #why = 'Azure has not answered'
  #isReported = false

  constructor(name: string, deps: LateListDeps) {
    this.name = name
    this.#deps = deps
  }

  /** How long the list has been waited for; 0 when nothing waits. */
  get waitedMs(): number {
    return this.#sinceMs === undefined ? 0 : this.#deps.now() - this.#sinceMs
  }

  /** The list is needed from now on, if it was not before. */
  needed(): void {
    if (this.#sinceMs !== undefined) return
    this.#sinceMs = this.#deps.now()
    this.#arm()
  }

  /** Reading the list failed; it is read again. */
  failed(error: unknown): void {
    this.#why = scrubbedMessage(error)
    this.#deps.log.warn({ list: this.name, err: error }, 'failed to read list, retrying')
  }

  /** The list came, or is needed no longer. */
  settled(): void {
    clearTimeout(this.#timer)
    this.#sinceMs = undefined
    if (!this.#isReported) return
    this.#isReported = false
    this.#deps.log.info({ list: this.name }, 'list is no longer late')
    this.#store(undefined)
  }

  #arm(): void {
    this.#timer = setTimeout(() => this.#report(), lateAfterMs).unref()
  }

  #report(): void {
    this.#isReported = true
    const [sinceMs = 0, atMs] = [this.#sinceMs, this.#deps.now()]
    const why = printableStart(this.#why, 300)
    this.#deps.log.error({ list: this.name, lateSeconds: Math.round((atMs - sinceMs) / 1000), why }, 'list is late')
    this.#store({ list: this.name, sinceMs, atMs, process: hostname(), why })
    this.#arm()
  }

  #store(entry: LateEntry | undefined): void {
    this.#deps
      .store?.(this.name, entry)
      .catch((error: unknown) => this.#deps.log.warn({ err: error, list: this.name }, 'failed to store late list'))
  }
}

/** The shared lists of a process, with their metric. */
export class LateLists {
  readonly #deps: LateListDeps
  readonly #lists: LateList[] = []

  constructor(
    {
      client,
      namespace,
      ...deps
    }: Omit<LateListDeps, 'store'> & { readonly client: KubernetesClient; readonly namespace: string },
    registry: Registry,
  ) {
    const store = (name: string, entry: LateEntry | undefined) =>
      writeConfigMap(client, { name: lateListsMap, namespace }, { [keyOf(name)]: entry ? JSON.stringify(entry) : null })
    this.#deps = { ...deps, store }
    gaugeOf(this.#lists, registry)
  }

  of(name: string): LateList {
    const list = new LateList(name, this.#deps)
    this.#lists.push(list)
    return list
  }
}

/** Gauge of how long lists have been waited for, computed on each scrape. */
function gaugeOf(lists: readonly LateList[], registry: Registry): Gauge {
  return new Gauge({
    name: 'joiner_azure_list_wait_seconds',
    help: 'How long waits have had no list of VMs or AKS machines from Azure; 0 while lists come or nothing waits.',
    labelNames: ['list'],
    registers: [registry],
    collect() {
      for (const list of lists) this.set({ list: list.name }, list.waitedMs / 1000)
    },
  })
}

/** Returns the late lists of a ConfigMap's entries. */
export function parseLateLists(data: Entries) {
  return readEntries<LateEntry>(data, (_, text) => readJson(keptEntry, text))
}

/** Returns the lists that are late now, as processes wrote them. Errors: the API server's. */
export async function readLateLists(
  { client, namespace, note }: KeptSource,
  now: number,
): Promise<readonly LateEntry[]> {
  const { documents, faults } = parseLateLists((await readConfigMap(client, { name: lateListsMap, namespace })) ?? {})
  note?.(lateListsMap, faults)
  return [...documents.values()].filter(({ atMs }) => Math.abs(now - atMs) < staleAfterMs)
}

const keyOf = (name: string) => name.replaceAll(' ', '-')
