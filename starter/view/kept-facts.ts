import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { prices, waiting } from '../picture/kept.ts'
import { missingLines } from '../picture/missing.ts'
import { type Part, readPicture } from '../picture/picture.ts'
import type { ClusterModel } from './cluster-model.ts'

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

  /** `enter` returns what is missing nevertheless. */
  async function look<T>(subject: string, part: Part<T>, enter: (read: T) => string | undefined): Promise<void> {
    const { read, missing, damaged } = await readPicture({ client, namespace, now: now() }, { read: part })
    const odd = read === undefined ? undefined : enter(read)
    const [lost] = missingLines(missing)
    const [text] = [...damaged, ...(odd === undefined ? [] : [odd])]
    note(subject, lost === undefined ? text && `${subject}: ${text}` : `${subject} not known: ${lost}`)
  }

  const lookAtPrices = () =>
    look('prices', prices, ({ list }) => {
      if (list === undefined)
        return `there is no ConfigMap joiner-prices in the namespace "${namespace}"; give Joiner's namespace by --joiner-namespace`
      if (list.readAtMs !== readAtMs) model.setPrices(list.priceOf)
      readAtMs = list.readAtMs
      return undefined
    })
  const lookAtWaiting = () =>
    look('pending pods', waiting, ({ atMs, classes }) => {
      if (atMs !== writtenAtMs) model.setWaiting([...classes.values()])
      writtenAtMs = atMs
      return undefined
    })

  const timers = [
    setInterval(() => void lookAtPrices(), pricesEveryMs),
    setInterval(() => void lookAtWaiting(), waitingEveryMs),
  ]
  return {
    first: Promise.all([lookAtPrices(), lookAtWaiting()]),
    stop: () => {
      for (const timer of timers) clearInterval(timer)
    },
  }
}
