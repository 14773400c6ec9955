import { formatWaitingClass, formatWaitingSummary, summaryKey } from '../../../api/waiting-pods.ts'
import { type WaitingPods, waitingMapName } from '../../../core/scheduling/explain/waiting-classes.ts'
import { readConfigMap, writeConfigMap } from '../../kubernetes/client/config-map.ts'
import type { Parts } from '../../kubernetes/parts.ts'

/** Text of all classes; a ConfigMap takes a megabyte. */
const mostText = 800_000

type Place = Pick<Parts, 'client' | 'namespace'>

/** How findings are written. */
interface Writing {
  readonly atMs: number
  /** Whether to write the time at least. */
  readonly always: boolean
  /** Called before each write. Errors: this process must not write. */
  readonly admit: () => Promise<void>
}

/** Writes the findings: an entry for each class, only those that changed. */
export class WaitingStore {
  /** Entries of the ConfigMap, without the summary; undefined until they were read. */
  #stored: ReadonlyMap<string, string> | undefined
  #counts = ''

  /** Forgets what the ConfigMap has: another process may have written. */
  forget(): void {
    this.#stored = undefined
  }

  /** Writes what changed since the last write. Returns whether there was anything. Errors: the API server's, and those of `admit`. */
  async write(to: Place, pods: WaitingPods, how: Writing): Promise<boolean> {
    const isWritten = await this.#writeChanges(to, pods, how)
    // A restore of etcd brings back what was removed, and nothing may change for long after it. What comes back each time waits for the next change.
    if (isWritten) await this.#writeChanges(to, pods, { ...how, always: false })
    return isWritten
  }

  async #writeChanges(
    { client, namespace }: Place,
    { classes, counts }: WaitingPods,
    { atMs, always, admit }: Writing,
  ): Promise<boolean> {
    const ref = { name: waitingMapName, namespace }
    this.#stored ??= classesIn(await readConfigMap(client, ref))
    const stored = this.#stored
    const wanted = boundedEntries(classes)
    const changed = [...wanted].filter(([key, text]) => stored.get(key) !== text)
    const gone = [...stored.keys()].filter((key) => !wanted.has(key))
    const isSame = changed.length + gone.length === 0 && JSON.stringify(counts) === this.#counts
    if (isSame && !always) return false
    await admit()
    const written = await writeConfigMap(client, ref, {
      ...Object.fromEntries(changed),
      ...Object.fromEntries(gone.map((key) => [key, null])),
      [summaryKey]: formatWaitingSummary(atMs, counts),
    })
    this.#stored = classesIn(written)
    this.#counts = JSON.stringify(counts)
    return true
  }
}

function classesIn(data: Readonly<Record<string, string>> = {}): ReadonlyMap<string, string> {
  return new Map(Object.entries(data).filter(([key]) => key !== summaryKey))
}

function boundedEntries(classes: WaitingPods['classes']): ReadonlyMap<string, string> {
  const entries = new Map<string, string>()
  let rest = mostText
  for (const [key, one] of classes) {
    const text = formatWaitingClass(one)
    rest -= text.length
    if (rest < 0) break
    entries.set(key, text)
  }
  return entries
}
