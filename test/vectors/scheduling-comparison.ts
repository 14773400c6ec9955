// Compares answers to scheduling scenarios in the canonical form of golden/scheduling.md.
import { quantity } from '../../core/values/quantity.ts'

const zoneLabel = 'topology.kubernetes.io/zone'
const generatedHostname = /hostname-placeholder-\d+/g

interface Requirement {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[] | null
  readonly minValues?: number | null
}

interface Claim {
  readonly nodePool: string
  readonly minValuesRelaxed?: boolean
  readonly instanceTypes?: readonly string[]
  readonly cheapestPrice?: number
  readonly requirements?: readonly Requirement[]
  readonly requests?: Readonly<Record<string, string>>
  readonly pods?: readonly string[]
}

/** What a scheduling pass answers. Parts that are empty may be absent. */
interface Answer {
  readonly newNodeClaims?: readonly Claim[]
  readonly existingNodes?: readonly { readonly name: string; readonly pods: readonly string[] }[]
  readonly errors?: Readonly<Record<string, string>>
}

interface PodObject {
  readonly kind?: string
  readonly metadata?: {
    readonly name?: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
  }
}

/** A scenario with the answer that is expected, and what of it upstream leaves open. */
export interface ExpectedAnswer {
  readonly objects: readonly object[]
  readonly expected: object
  readonly unstable?: readonly string[] | null
}

interface Canonical {
  readonly claims: unknown
  readonly existingNodes: unknown
  readonly errors: unknown
}

/** The differences between an answer and what is expected, as lines of text. */
export function schedulingDifferences(scenario: ExpectedAnswer, actual: object): readonly string[] {
  const form = canonicalForm(podGroups(scenario.objects), new Set(scenario.unstable ?? []))
  const [want, got] = [form(scenario.expected), form(actual)]
  return [
    ...(Array.isArray(want.claims) && Array.isArray(got.claims)
      ? claimDifferences(want.claims, got.claims)
      : partDifferences('claims', want.claims, got.claims)),
    ...partDifferences('existingNodes', want.existingNodes, got.existingNodes),
    ...partDifferences('errors', want.errors, got.errors),
  ]
}

/** Groups by pod, as `namespace/name`: pods of a namespace with the same label `app` are alike, one without it is its own group. */
function podGroups(objects: readonly object[]): ReadonlyMap<string, string> {
  const pods = (objects as readonly PodObject[]).filter(({ kind }) => kind === 'Pod')
  return new Map(
    pods.map(({ metadata: { name = '', namespace = 'default', labels = {} } = {} }) => {
      const app = labels['app']
      return [`${namespace}/${name}`, app ? `${namespace}/app=${app}` : `${namespace}/${name}`]
    }),
  )
}

type Count = Readonly<Record<string, number>>

function count(names: readonly string[]): Count {
  const groups = Map.groupBy(names, (name) => name)
  return Object.fromEntries([...groups].map(([name, { length }]) => [name, length]))
}

/** Brings an answer into the form in which equal answers are equal. `open`: the tokens of what is left out (golden/scheduling.md). */
function canonicalForm(groups: ReadonlyMap<string, string>, open: ReadonlySet<string>): (answer: Answer) => Canonical {
  const tally = (pods: readonly string[]) =>
    open.has('pods') ? pods.length : count(pods.map((pod) => groups.get(pod) ?? pod))
  const claimForm = (claim: Claim) => ({
    nodePool: claim.nodePool,
    minValuesRelaxed: claim.minValuesRelaxed ?? false,
    pods: tally(claim.pods ?? []),
    ...(open.has('instanceTypes') ? {} : { instanceTypes: [...(claim.instanceTypes ?? [])].sort() }),
    ...(open.has('cheapestPrice') ? {} : { cheapestPrice: Math.round((claim.cheapestPrice ?? -1) * 1e6) / 1e6 }),
    ...(open.has('requirements')
      ? {}
      : { requirements: byText((claim.requirements ?? []).map((one) => requirementForm(one, open.has('zone')))) }),
    ...(open.has('requests') ? {} : { requests: amounts(claim.requests ?? {}) }),
  })
  const errorsOf = (errors: Readonly<Record<string, string>>) => {
    const reported = Object.entries(errors).map(([pod, message]) => {
      const text = open.has('errorText') ? 'an error' : message.replaceAll(generatedHostname, 'hostname-placeholder')
      return `${open.has('pods') ? 'a pod' : (groups.get(pod) ?? pod)}: ${text}`
    })
    return count(reported)
  }
  return ({ newNodeClaims = [], existingNodes = [], errors = {} }) => ({
    claims: open.has('claims') ? count(newNodeClaims.map(({ nodePool }) => nodePool)) : newNodeClaims.map(claimForm),
    existingNodes: open.has('existingNodes')
      ? tally(existingNodes.flatMap(({ pods }) => pods))
      : Object.fromEntries(
          existingNodes.flatMap(({ name, pods }) => (pods.length === 0 ? [] : [[name, tally(pods)] as const])),
        ),
    errors: open.has('errors') ? {} : errorsOf(errors),
  })
}

function requirementForm({ key, operator, values, minValues }: Requirement, isZoneOpen: boolean) {
  const sorted = [...(values ?? [])].sort()
  return {
    key,
    operator,
    values: isZoneOpen && key === zoneLabel ? [`${sorted.length} of them`] : sorted,
    ...(minValues === undefined || minValues === null ? {} : { minValues }),
  }
}

/** Quantities as their exact values, however they are written. */
const amounts = (requests: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(requests).map(([name, text]) => [name, String(quantity(text).nano)]))

/** JSON with sorted keys: equal texts are equal values. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  )
}

const byText = <T>(list: readonly T[]): readonly T[] => list.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1))

type Fields = Readonly<Record<string, unknown>>

/** Claims that have no equal on the other side, each beside the one that is most like it. */
function claimDifferences(want: readonly Fields[], got: readonly Fields[]): readonly string[] {
  const missing = withoutAll(want, got)
  const unexpected = [...withoutAll(got, want)]
  const lines = missing.flatMap((claim) => {
    const nearest = unexpected.toSorted((a, b) => likeness(claim, b) - likeness(claim, a))[0]
    if (nearest === undefined) return [`claim missing: ${textOf(claim)}`]
    unexpected.splice(unexpected.indexOf(nearest), 1)
    return partDifferences(`claim ${textOf(claim['nodePool'])} ${textOf(claim['pods'])}`, claim, nearest)
  })
  return [...lines, ...unexpected.map((claim) => `claim unexpected: ${textOf(claim)}`)]
}

function withoutAll(list: readonly Fields[], taken: readonly Fields[]): readonly Fields[] {
  const rest = taken.map(textOf)
  return list.filter((one) => {
    const at = rest.indexOf(textOf(one))
    if (at >= 0) rest.splice(at, 1)
    return at < 0
  })
}

/** How many fields are equal; the pods count three times, as they say best which claim is meant. */
function likeness(a: Fields, b: Fields): number {
  const equal = Object.keys(a).filter((key) => textOf(a[key]) === textOf(b[key]))
  return equal.length + (equal.includes('pods') ? 2 : 0)
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function partDifferences(path: string, want: unknown, got: unknown): readonly string[] {
  if (textOf(want ?? null) === textOf(got ?? null)) return []
  if (Array.isArray(want) && Array.isArray(got)) {
    const [left, right] = [want, got].map((list) => new Set(list.map(textOf))) as [Set<string>, Set<string>]
    return [
      ...[...left.difference(right)].map((one) => `${path}: missing ${one}`),
      ...[...right.difference(left)].map((one) => `${path}: unexpected ${one}`),
    ]
  }
  if (!isFields(want) || !isFields(got)) return [`${path}: expected ${textOf(want)}, got ${textOf(got)}`]
  const keys = new Set([...Object.keys(want), ...Object.keys(got)])
  return [...keys].flatMap((key) => partDifferences(`${path}.${key}`, want[key], got[key]))
}
