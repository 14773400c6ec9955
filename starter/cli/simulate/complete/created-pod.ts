import { isDeepStrictEqual } from 'node:util'
import { entryOf } from '../../../../core/values/records.ts'
import { InputError } from '../../../document/reported-error.ts'

// What the API server adds to a pod when it is created, as far as it matters for placement. Added to a pod that has it, it changes nothing.

type Texts = Readonly<Record<string, string>>
type Amounts = Readonly<Record<string, string | number>>

interface Resources {
  readonly requests?: Amounts
  readonly limits?: Amounts
}

interface Port {
  readonly containerPort?: number
  readonly hostPort?: number
  readonly protocol?: string
}

interface Container {
  readonly resources?: Resources
  readonly ports?: readonly Port[]
}

interface Term {
  readonly labelSelector?: { readonly matchExpressions?: readonly object[] }
  readonly matchLabelKeys?: readonly string[]
  readonly mismatchLabelKeys?: readonly string[]
}

interface Terms {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly Term[]
  readonly preferredDuringSchedulingIgnoredDuringExecution?: readonly { readonly podAffinityTerm: Term }[]
}

/** A pod's spec, checked, as files have it. */
export interface PodSpec {
  readonly [field: string]: unknown
  readonly hostNetwork?: boolean
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
  readonly resources?: Resources
  readonly affinity?: { readonly podAffinity?: Terms; readonly podAntiAffinity?: Terms }
  readonly nodeSelector?: Texts
  readonly tolerations?: readonly object[]
  readonly overhead?: Amounts
  readonly runtimeClassName?: string
  readonly priorityClassName?: string
  readonly priority?: number
}

export interface RuntimeClass {
  readonly metadata: { readonly name: string }
  readonly overhead?: { readonly podFixed?: Amounts }
  readonly scheduling?: { readonly nodeSelector?: Texts; readonly tolerations?: readonly object[] }
}

export interface PriorityClass {
  readonly metadata: { readonly name: string }
  readonly value?: number
  readonly globalDefault?: boolean
}

/** What pods refer to by name. */
export interface PodClasses {
  readonly runtimeClasses: ReadonlyMap<string, RuntimeClass>
  readonly priorityClasses: ReadonlyMap<string, PriorityClass>
}

/** A pod, or the template of one. */
interface PodParts {
  /** As messages name it. */
  readonly subject: string
  readonly labels: Texts
  readonly spec: PodSpec
}

/** Returns the spec that a pod gets when it is created. Errors: InputError where the API server refuses it. */
export function createdSpec(pod: PodParts, classes: PodClasses): PodSpec {
  const { labels, spec } = pod
  const created = (containers: PodSpec['containers']) =>
    containers?.map((container) => createdContainer(container, spec.hostNetwork === true))
  const { affinity } = spec
  const whole = {
    ...spec,
    containers: created(spec.containers) ?? [],
    initContainers: created(spec.initContainers) ?? [],
    ...(affinity && { affinity: createdAffinity(affinity, labels) }),
    ...priorityOf(spec, classes),
  }
  const runtimeClass = classes.runtimeClasses.get(spec.runtimeClassName ?? '')
  const run = runtimeClass === undefined ? whole : ofRuntimeClass({ ...pod, spec: whole }, runtimeClass)
  return run.resources === undefined ? run : { ...run, resources: createdResources(run) }
}

function createdContainer({ resources, ports, ...rest }: Container, isHostNetwork: boolean): Container {
  return {
    ...rest,
    ...(resources && { resources: { ...resources, requests: { ...resources.limits, ...resources.requests } } }),
    ...(ports && {
      ports: ports.map((port) => ({
        ...port,
        protocol: port.protocol || 'TCP',
        ...(isHostNetwork && { hostPort: port.hostPort || port.containerPort || 0 }),
      })),
    }),
  }
}

/** A limit of the whole pod is its request where neither the pod nor a container has one. */
function createdResources({ resources = {}, containers = [], initContainers = [] }: PodSpec): Resources {
  const isAsked = (name: string) =>
    [...containers, ...initContainers].some((one) => entryOf(one.resources?.requests, name) !== undefined)
  const unasked = Object.entries(resources.limits ?? {}).filter(([name]) => !isAsked(name))
  return { ...resources, requests: { ...Object.fromEntries(unasked), ...resources.requests } }
}

/** Keys whose values the selector takes from the pod's own labels become expressions of it. */
function createdAffinity(affinity: NonNullable<PodSpec['affinity']>, labels: Texts) {
  const created = (term: Term): Term => {
    const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term
    if (labelSelector === undefined || matchLabelKeys.length + mismatchLabelKeys.length === 0) return term
    const { matchExpressions = [] } = labelSelector
    const more = [...expressions(matchLabelKeys, 'In', labels), ...expressions(mismatchLabelKeys, 'NotIn', labels)]
    const isThere = (one: object) => matchExpressions.some((other) => isDeepStrictEqual(one, other))
    const added = more.filter((one) => !isThere(one))
    return { ...term, labelSelector: { ...labelSelector, matchExpressions: [...matchExpressions, ...added] } }
  }
  const all = (terms: Terms): Terms => {
    const required = terms.requiredDuringSchedulingIgnoredDuringExecution
    const preferred = terms.preferredDuringSchedulingIgnoredDuringExecution
    return {
      ...terms,
      ...(required && { requiredDuringSchedulingIgnoredDuringExecution: required.map(created) }),
      ...(preferred && {
        preferredDuringSchedulingIgnoredDuringExecution: preferred.map(({ podAffinityTerm, ...rest }) => ({
          ...rest,
          podAffinityTerm: created(podAffinityTerm),
        })),
      }),
    }
  }
  const { podAffinity, podAntiAffinity } = affinity
  return {
    ...affinity,
    ...(podAffinity && { podAffinity: all(podAffinity) }),
    ...(podAntiAffinity && { podAntiAffinity: all(podAntiAffinity) }),
  }
}

function expressions(keys: readonly string[], operator: 'In' | 'NotIn', labels: Texts): readonly object[] {
  return keys.flatMap((key) => {
    const value = entryOf(labels, key)
    return value === undefined ? [] : [{ key, operator, values: [value] }]
  })
}

const systemPriorities: Readonly<Record<string, number>> = {
  'system-cluster-critical': 2_000_000_000,
  'system-node-critical': 2_000_001_000,
}

/** The priority of a pod's class, or of the class that counts for pods without one. */
function priorityOf({ priority, priorityClassName }: PodSpec, { priorityClasses }: PodClasses): Partial<PodSpec> {
  if (priority !== undefined) return {}
  const named = priorityClassName
    ? priorityClasses.get(priorityClassName)
    : [...priorityClasses.values()].find(({ globalDefault }) => globalDefault === true)
  const value = named?.value ?? entryOf(systemPriorities, priorityClassName ?? '')
  const name = priorityClassName || named?.metadata.name
  return { ...(value === undefined ? {} : { priority: value }), ...(name ? { priorityClassName: name } : {}) }
}

function ofRuntimeClass({ subject, spec }: PodParts, { metadata, overhead, scheduling = {} }: RuntimeClass): PodSpec {
  const { nodeSelector = {}, tolerations = [] } = scheduling
  const { nodeSelector: own, tolerations: ownTolerations = [] } = spec
  for (const [key, value] of Object.entries(nodeSelector)) {
    const wanted = entryOf(own, key)
    if (wanted === undefined || wanted === value) continue
    throw new InputError(
      `${subject}: spec.nodeSelector[${key}] is "${wanted}", and its RuntimeClass "${metadata.name}" wants "${value}", so the API server refuses it; make them equal`,
    )
  }
  const isOwn = (toleration: object) => ownTolerations.some((other) => isDeepStrictEqual(toleration, other))
  return {
    ...spec,
    nodeSelector: { ...nodeSelector, ...own },
    tolerations: [...ownTolerations, ...tolerations.filter((one) => !isOwn(one))],
    ...(spec.overhead === undefined && overhead?.podFixed ? { overhead: overhead.podFixed } : {}),
  }
}
