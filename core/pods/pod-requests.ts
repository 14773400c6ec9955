import { maxResources, mergeResources, parseResources, type Resources } from '../resources.ts'
import { entryOf } from '../values/records.ts'

type Amounts = Readonly<Record<string, string | number>> | null | undefined

interface Container {
  readonly name?: string
  readonly restartPolicy?: string
  readonly resources?: { readonly requests?: Amounts; readonly limits?: Amounts } | null
}

interface ContainerStatus {
  readonly name: string
  readonly resources?: { readonly requests?: Amounts } | null
  readonly allocatedResources?: Amounts
}

/** The parts of a pod object that determine its resource requests. */
export interface PodResourcesInput {
  readonly spec?: {
    readonly containers?: readonly Container[] | null
    readonly initContainers?: readonly Container[] | null
    readonly overhead?: Amounts
    readonly resources?: { readonly requests?: Amounts; readonly limits?: Amounts } | null
  }
  readonly status?: {
    readonly conditions?:
      | readonly { readonly type: string; readonly status?: string; readonly reason?: string }[]
      | null
    readonly containerStatuses?: readonly ContainerStatus[] | null
    readonly initContainerStatuses?: readonly ContainerStatus[] | null
  }
}

/** Resources that a pod may request as a whole; containers request the others. */
const podLevel = (name: string) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-')

/** An init container that keeps running beside the pod's containers. */
const isSidecar = (container: Container) => container.restartPolicy === 'Always'

type Kind = 'requests' | 'limits'

/** Returns a pod's requests by its spec alone, without `pods` (reference/karpenter-core.md 3.11). */
export function specRequests(pod: PodResourcesInput): Resources {
  return total(pod, 'requests', (container) => parseResources(container.resources?.requests))
}

/**
 * Returns a pod's requests: by its spec, or by its allocation while a resize is under way, whichever is more (reference/karpenter-core.md 3.11). The
 * status counts only where it reports use, and never for an init container that ends.
 */
export function podRequests(pod: PodResourcesInput): Resources {
  const statuses = new Map(
    [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])].map((s) => [s.name, s]),
  )
  if (statuses.size === 0) return specRequests(pod)
  const infeasible = (pod.status?.conditions ?? []).some(
    (c) => c.type === 'PodResizePending' && c.reason === 'Infeasible',
  )
  const ends = new Set((pod.spec?.initContainers ?? []).filter((container) => !isSidecar(container)))
  return total(pod, 'requests', (container) => {
    const spec = parseResources(container.resources?.requests)
    if (ends.has(container)) return spec
    const status = statuses.get(container.name ?? '')
    if (!status?.resources) return spec
    const actual = parseResources(status.resources?.requests)
    const allocated = parseResources(status.allocatedResources)
    return infeasible ? maxResources(actual, allocated) : maxResources(spec, actual, allocated)
  })
}

/** Returns a pod's limits. A container without a limit for a resource adds nothing to it. */
export function podLimits(pod: PodResourcesInput): Resources {
  return total(pod, 'limits', (container) => parseResources(container.resources?.limits))
}

/**
 * Returns the larger of the concurrent containers' sum and the peak of the init phase. A restartable init container (a sidecar) keeps running, so it
 * counts with every container started after it. Amounts of the pod as a whole replace those of its containers; overhead is added.
 */
function total(pod: PodResourcesInput, kind: Kind, of: (container: Container) => Resources): Resources {
  let running = mergeResources(...(pod.spec?.containers ?? []).map(of))
  let sidecars: Resources = {}
  let peak: Resources = {}
  for (const container of pod.spec?.initContainers ?? []) {
    if (isSidecar(container)) {
      const own = of(container)
      running = mergeResources(running, own)
      sidecars = mergeResources(sidecars, own)
      peak = maxResources(peak, sidecars)
    } else peak = maxResources(peak, mergeResources(of(container), sidecars))
  }
  const whole = parseResources(pod.spec?.resources?.[kind])
  const replaced = Object.fromEntries(Object.entries(whole).filter(([name]) => podLevel(name)))
  return withOverhead({ ...maxResources(running, peak), ...replaced }, pod, kind)
}

/** Adds overhead to a limit only where there is one: no limit plus overhead is still no limit. */
function withOverhead(amounts: Resources, pod: PodResourcesInput, kind: Kind): Resources {
  const overhead = parseResources(pod.spec?.overhead)
  if (kind === 'requests') return mergeResources(amounts, overhead)
  const known = Object.fromEntries(
    Object.entries(overhead).filter(([name]) => (entryOf(amounts, name)?.nano ?? 0n) !== 0n),
  )
  return mergeResources(amounts, known)
}
