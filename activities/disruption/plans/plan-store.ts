import { parseDisruptionPlan } from '../../../api/disruption-plan.ts'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { planMapName, planPlaces } from '../../../core/disruption/plan/plan-requests.ts'
import { expecting, isNotFound } from '../../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { findConfigMap, replaceConfigMap } from '../../kubernetes/client/config-map.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'

const planHours = 24
const entry = 'plan.json'
const annotationOf = { id: 'joiner.sh/plan-id', expires: 'joiner.sh/plan-expires' } as const

interface Stored {
  readonly place: string
  readonly id: string
  readonly expiresMs: number
  readonly text: string
}

export type FoundPlan =
  | { readonly kind: 'found'; readonly plan: DisruptionPlan }
  /** Why the plan is not available, and what to do. */
  | { readonly kind: 'missing'; readonly message: string }

/** Plans in ConfigMaps in Joiner's namespace. The first digit of a plan's id names its place. */
export class PlanStore {
  readonly #client: KubernetesClient
  readonly #namespace: string

  constructor(client: KubernetesClient, namespace: string) {
    this.#client = client
    this.#namespace = namespace
  }

  /** `now`: epoch ms. Errors: the API server's. */
  async read(id: string, now: number): Promise<FoundPlan> {
    const stored = await this.#read(id.charAt(0))
    if (stored?.id !== id)
      return {
        kind: 'missing',
        message: `there is no plan ${id} in namespace "${this.#namespace}": the latest ${planPlaces.length} are kept, for ${planHours} h. Make a new one with joiner plan, or apply the file it was saved to`,
      }
    if (stored.expiresMs <= now)
      return {
        kind: 'missing',
        message: `plan ${id} has expired at ${new Date(stored.expiresMs).toISOString()}; make a new one with joiner plan`,
      }
    const read = parseDisruptionPlan(stored.text)
    if (read.kind === 'ok') return { kind: 'found', plan: read.plan }
    return {
      kind: 'missing',
      message: `plan ${id} in ConfigMap ${this.#namespace}/${planMapName(id.charAt(0))} cannot be read: ${read.message}; make a new one with joiner plan`,
    }
  }

  /**
   * Returns the id for a new plan: a place, and then `key`, seven hexadecimal digits. Free places come first, then the one whose plan ends
   * first; the plan of the same key keeps its place. Removes expired plans.
   */
  async newId(key: string, now: number): Promise<string> {
    const stored = await Promise.all(planPlaces.map((place) => this.#read(place)))
    const known = stored.filter((each) => each !== undefined)
    const same = known.find(({ id }) => id.slice(1) === key)
    if (same !== undefined) return same.id
    const over = known.filter(({ expiresMs }) => expiresMs <= now)
    await Promise.all(over.map(({ place }) => this.#remove(place)))
    const free = planPlaces.find((place) => !known.some((each) => each.place === place && each.expiresMs > now))
    const [oldest] = known.toSorted((a, b) => a.expiresMs - b.expiresMs)
    return `${free ?? oldest?.place ?? '0'}${key}`
  }

  /** Writes a plan to its place, where it stays for its time from `now`, in epoch ms. Replaces an earlier plan there. */
  async write(plan: DisruptionPlan, now: number): Promise<void> {
    await replaceConfigMap(this.#client, this.#ref(plan.id.charAt(0)), {
      metadata: {
        labels: { 'app.kubernetes.io/managed-by': 'joiner', 'joiner.sh/plan': 'true' },
        annotations: {
          [annotationOf.id]: plan.id,
          [annotationOf.expires]: new Date(now + planHours * 3_600_000).toISOString(),
        },
      },
      data: { [entry]: JSON.stringify(plan) },
    })
  }

  async #read(place: string): Promise<Stored | undefined> {
    const map = await findConfigMap(this.#client, this.#ref(place))
    if (map === undefined) return undefined
    const own = map.metadata.annotations ?? {}
    const expiresMs = Date.parse(own[annotationOf.expires] ?? '')
    return {
      place,
      id: own[annotationOf.id] ?? '',
      // An entry without an end time counts as expired.
      expiresMs: Number.isNaN(expiresMs) ? 0 : expiresMs,
      text: map.data?.[entry] ?? '',
    }
  }

  async #remove(place: string): Promise<void> {
    const { name, namespace } = this.#ref(place)
    await this.#client.delete(resourcePath('configmaps', name, namespace)).catch(expecting(isNotFound, undefined))
  }

  #ref(place: string) {
    return { name: planMapName(place), namespace: this.#namespace }
  }
}
