import { parseDisruptionPlan } from '../../../api/disruption-plan.ts'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { planMapName, planPlaces } from '../../../core/disruption/plan/plan-requests.ts'
import { expecting, isGoneOrOther } from '../../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../kubernetes/client/client.ts'
import { findConfigMap, putConfigMap } from '../../kubernetes/client/config-map.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'

const planHours = 24
const entry = 'plan.json'
const annotationOf = { id: 'joiner.sh/plan-id', expires: 'joiner.sh/plan-expires' } as const

/** How often a place is looked for that somebody else takes meanwhile. */
const attempts = 10

interface Stored {
  readonly place: string
  /** Of the ConfigMap. */
  readonly version: string
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
   * Keeps a plan for its time from `now`, in epoch ms. Returns its id there: a place, and then the seven digits that its id ends with. Free places come
   * first, then the one whose plan ends first; a plan of the same digits keeps its place. Of two that want one place at once, the second takes another.
   * Removes expired plans. Errors: the API server's.
   */
  async keep(plan: DisruptionPlan, now: number): Promise<string> {
    const key = plan.id.slice(1)
    for (let attempt = 1; ; attempt += 1) {
      const { place, version } = await this.#placeFor(key, now)
      const id = `${place}${key}`
      try {
        await this.#write({ ...plan, id }, version, now)
        return id
      } catch (error) {
        if (!isGoneOrOther(error) || attempt === attempts) throw error
      }
    }
  }

  async #placeFor(key: string, now: number): Promise<Pick<Stored, 'place'> & Partial<Stored>> {
    const stored = await Promise.all(planPlaces.map((place) => this.#read(place)))
    const known = stored.filter((each) => each !== undefined)
    const same = known.find(({ id }) => id.slice(1) === key)
    if (same !== undefined) return same
    const kept = known.filter(({ expiresMs }) => expiresMs > now)
    await Promise.all(known.filter((each) => !kept.includes(each)).map((each) => this.#remove(each)))
    const free = planPlaces.find((place) => !kept.some((each) => each.place === place))
    const [oldest] = kept.toSorted((a, b) => a.expiresMs - b.expiresMs)
    return free === undefined && oldest !== undefined ? oldest : { place: free ?? '0' }
  }

  async #write(plan: DisruptionPlan, version: string | undefined, now: number): Promise<void> {
    await putConfigMap(
      this.#client,
      { ...this.#ref(plan.id.charAt(0)), version },
      {
        metadata: {
          labels: { 'app.kubernetes.io/managed-by': 'joiner', 'joiner.sh/plan': 'true' },
          annotations: {
            [annotationOf.id]: plan.id,
            [annotationOf.expires]: new Date(now + planHours * 3_600_000).toISOString(),
          },
        },
        data: { [entry]: JSON.stringify(plan) },
      },
    )
  }

  async #read(place: string): Promise<Stored | undefined> {
    const map = await findConfigMap(this.#client, this.#ref(place))
    if (map === undefined) return undefined
    const own = map.metadata.annotations ?? {}
    const expiresMs = Date.parse(own[annotationOf.expires] ?? '')
    return {
      place,
      version: map.metadata.resourceVersion,
      id: own[annotationOf.id] ?? '',
      // An entry without an end time counts as expired.
      expiresMs: Number.isNaN(expiresMs) ? 0 : expiresMs,
      text: map.data?.[entry] ?? '',
    }
  }

  /** Unless another plan has taken the place. */
  async #remove({ place, version: resourceVersion }: Stored): Promise<void> {
    const { name, namespace } = this.#ref(place)
    await this.#client
      .delete(resourcePath('configmaps', name, namespace), { resourceVersion })
      .catch(expecting(isGoneOrOther, undefined))
  }

  #ref(place: string) {
    return { name: planMapName(place), namespace: this.#namespace }
  }
}
