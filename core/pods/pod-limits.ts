import type { Affinity, PodExcess, TopologySpreadConstraint } from '../objects.ts'

/**
 * What a pod may ask of the scheduler at most. Kubernetes has no such limits: an object of 3 MiB holds 40,000 terms, each of which is work for every
 * pass. No workload needs a tenth of this.
 */
export const podLimits = {
  /** Required spread constraints, and required pod affinity and anti-affinity terms, of each kind. */
  requiredTerms: 64,
  requiredNodeTerms: 128,
  /** Spread constraints that give way, and preferred terms, of each kind. */
  preferences: 64,
  /** Keys, values and names in all constraints together, and their characters. */
  texts: 5000,
  characters: 128 * 1024,
  tolerations: 256,
  labels: 256,
  resources: 64,
  hostPorts: 256,
  volumes: 256,
  resourceClaims: 64,
  ownerReferences: 64,
} as const

/** The part of a pod's spec that says where it may run. */
export interface PodConstraints {
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly affinity?: Affinity
  readonly topologySpreadConstraints?: readonly TopologySpreadConstraint[]
}

/** How many there are of what is counted, and how many there may be, by the path of the field. */
export type PodCounts = readonly (readonly [field: string, count: number, limit: number])[]

/**
 * Returns the constraints with no more preferences than the scheduler looks at, or none at all where requirements are too many, and what was left out;
 * undefined: nothing is too much. `counts` are of other parts of the pod.
 */
export function boundedConstraints(
  given: PodConstraints,
  counts: PodCounts,
): { readonly constraints: PodConstraints; readonly excess: PodExcess } | undefined {
  const size = new Size()
  const problems = [...counts, ...requiredCounts(given)].flatMap(([field, count, limit]) =>
    count > limit ? [`${field}: ${count} are too many, at most ${limit} are allowed`] : [],
  )
  if (problems.length === 0 && !size.add(requiredParts(given))) problems.push(tooLarge)
  if (problems.length > 0) return { constraints: {}, excess: { refused: problems.join('; ') } }
  const { constraints, dropped } = withPreferences(given, size)
  return dropped.length === 0 ? undefined : { constraints, excess: { dropped: dropped.join('; ') } }
}

const tooLarge =
  'spec.nodeSelector, affinity and topologySpreadConstraints: keys, values and names are too many or too long, ' +
  `at most ${podLimits.texts} with ${podLimits.characters} characters in all are allowed`

const isRequired = ({ whenUnsatisfiable }: TopologySpreadConstraint) => whenUnsatisfiable !== 'ScheduleAnyway'
const requiredField = 'requiredDuringSchedulingIgnoredDuringExecution'
const preferredField = 'preferredDuringSchedulingIgnoredDuringExecution'

function requiredCounts({ affinity, topologySpreadConstraints = [] }: PodConstraints): PodCounts {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity ?? {}
  const { requiredTerms, requiredNodeTerms } = podLimits
  const nodeTerms = nodeAffinity?.[requiredField]?.nodeSelectorTerms?.length ?? 0
  const spreads = topologySpreadConstraints.filter(isRequired).length
  return [
    ['spec.topologySpreadConstraints with DoNotSchedule', spreads, requiredTerms],
    [`spec.affinity.podAffinity.${requiredField}`, podAffinity?.[requiredField]?.length ?? 0, requiredTerms],
    [`spec.affinity.podAntiAffinity.${requiredField}`, podAntiAffinity?.[requiredField]?.length ?? 0, requiredTerms],
    [`spec.affinity.nodeAffinity.${requiredField}.nodeSelectorTerms`, nodeTerms, requiredNodeTerms],
  ]
}

function requiredParts({ nodeSelector, affinity, topologySpreadConstraints = [] }: PodConstraints): unknown {
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity ?? {}
  const terms = [nodeAffinity, podAffinity, podAntiAffinity].map((kind) => kind?.[requiredField])
  return [nodeSelector, terms, topologySpreadConstraints.filter(isRequired)]
}

/** The first preferences of each kind, as long as they are not too large together with what is required. */
function withPreferences(given: PodConstraints, size: Size) {
  const dropped: string[] = []
  const kept = <T>(field: string, all: readonly T[]): readonly T[] => {
    const some = all.slice(0, podLimits.preferences).filter((one) => size.add(one))
    if (some.length < all.length) dropped.push(`${field}: ${all.length - some.length} of ${all.length} left out`)
    return some
  }
  const { affinity, topologySpreadConstraints: spreads = [] } = given
  const anyway = new Set(
    kept(
      'spec.topologySpreadConstraints with ScheduleAnyway',
      spreads.filter((one) => !isRequired(one)),
    ),
  )
  const kinds = Object.entries(affinity ?? {}).map(([kind, terms]) => {
    const preferred: readonly unknown[] | undefined = terms?.[preferredField]
    if (preferred === undefined) return [kind, terms]
    return [kind, { ...terms, [preferredField]: kept(`spec.affinity.${kind}.${preferredField}`, preferred) }]
  })
  const constraints: PodConstraints = {
    ...given,
    topologySpreadConstraints: spreads.filter((one) => isRequired(one) || anyway.has(one)),
    ...(affinity && { affinity: Object.fromEntries(kinds) as Affinity }),
  }
  return { constraints, dropped }
}

/** Counts texts and their characters, up to the limits. */
class Size {
  #texts = 0
  #characters = 0

  /** Whether a value is within the limits with all that was added before; if not, it is not counted. */
  add(value: unknown): boolean {
    const [texts, characters] = [this.#texts, this.#characters]
    if (this.#count(value)) return true
    this.#texts = texts
    this.#characters = characters
    return false
  }

  #count(value: unknown): boolean {
    if (typeof value === 'string') return this.#text(value)
    if (Array.isArray(value)) return value.every((one) => this.#count(one))
    if (typeof value !== 'object' || value === null) return true
    for (const key in value) {
      if (!this.#text(key) || !this.#count((value as Readonly<Record<string, unknown>>)[key])) return false
    }
    return true
  }

  #text(text: string): boolean {
    this.#texts += 1
    this.#characters += text.length
    return this.#texts <= podLimits.texts && this.#characters <= podLimits.characters
  }
}
