import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { readWaiting } from '../../activities/provisioning/findings/read-waiting.ts'
import { faultText, type NoteFaults } from '../../api/kept/document.ts'
import { waitingMapName } from '../../core/scheduling/explain/waiting-classes.ts'
import { missingLines, missingOf } from '../picture/missing.ts'
import type { ClusterModel } from './cluster-model.ts'
import { readPrices } from './prices.ts'

/** Where Joiner keeps its facts, and what becomes of them. */
interface KeptOptions {
  readonly client: KubernetesClient
  /** Joiner's namespace. */
  readonly namespace: string
  readonly model: ClusterModel
  /** Notes what is missing about a subject; undefined: nothing is. Called after each reading. */
  readonly note: (subject: string, text: string | undefined) => void
  readonly now: () => number
}

const pricesEveryMs = 60_000
const waitingEveryMs = 5000

/**
 * Reads Joiner's ConfigMaps again and again: prices, and what its planner found about pending pods. Reading by name needs no right to list them.
 * Returns the function that ends it, and the first readings.
 */
export function followKeptFacts({ client, namespace, model, note, now }: KeptOptions) {
  let readAtMs: number | undefined
  let writtenAtMs: number | undefined
  const of = (name: string) => `ConfigMap ${name} in the namespace "${namespace}"`

  const prices = () =>
    noted('prices', of('joiner-prices'), async () => {
      const kept = await readPrices({ client, namespace }, now)
      if (kept.kind === 'damaged') return `prices: ${kept.why}`
      if (kept.kind === 'none')
        return `prices: there is no ${of('joiner-prices')}; give Joiner's namespace by --namespace`
      if (kept.readAtMs !== readAtMs) model.setPrices(kept.priceOf)
      readAtMs = kept.readAtMs
      return undefined
    })
  const waiting = () =>
    noted('pending pods', of(waitingMapName), async () => {
      let damaged: string | undefined
      const notes: NoteFaults = (name, [fault]) => {
        damaged = fault && `pending pods: ${faultText(name, namespace, fault)}`
      }
      const { atMs, classes } = await readWaiting({ client, namespace, note: notes })
      if (atMs !== writtenAtMs) model.setWaiting([...classes.values()])
      writtenAtMs = atMs
      return damaged
    })

  async function noted(subject: string, map: string, read: () => Promise<string | undefined>): Promise<void> {
    try {
      note(subject, await read())
    } catch (error) {
      note(subject, `${subject} not known: ${missingLines([missingOf(map, error)]).join()}`)
    }
  }

  const timers = [setInterval(() => void prices(), pricesEveryMs), setInterval(() => void waiting(), waitingEveryMs)]
  return {
    first: Promise.all([prices(), waiting()]),
    stop: () => {
      for (const timer of timers) clearInterval(timer)
    },
  }
}
