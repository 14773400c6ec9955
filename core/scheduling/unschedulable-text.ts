import { unclaimableText } from '../requirements/claim-requirements.ts'
import { labels } from '../requirements/labels.ts'
import { describe } from '../requirements/requirement.ts'
import { describeAll, incompatibilityText } from '../requirements/requirements.ts'
import { formatResources, maxResources, mergeResources, minResources, type Resources } from '../resources.ts'
import { intoleranceText } from '../taints.ts'
import type {
  IgnoredReason,
  PoolRefusal,
  ReservationProblem,
  TopologyRefusal,
  TypeCriterion,
  TypeProblem,
  UnschedulableCause,
  VolumeProblem,
} from './unschedulable.ts'

/** Texts of causes that many pods share. */
const known = new WeakMap<UnschedulableCause, string>()

/** Returns why a pod has no place, in upstream's words (reference/karpenter-core.md 3.2, 3.5, 3.8, 3.10, 3.12). */
export function unschedulableText(cause: UnschedulableCause): string {
  let text = known.get(cause)
  if (text === undefined) known.set(cause, (text = textOf(cause)))
  return text
}

/** Returns the same for readers: hostnames that were made up have no number, which means nothing to them. */
export function unschedulableWords(cause: UnschedulableCause): string {
  return unschedulableText(cause).replace(/hostname-placeholder-\d+/g, 'hostname-placeholder')
}

function textOf(cause: UnschedulableCause): string {
  switch (cause.kind) {
    case 'ignored':
      return `ignoring pod, ${cause.reasons.map(ignoredText).join('; ')}`
    case 'too-much':
      return `ignoring pod, ${cause.excess}`
    case 'volumes-not-looked-up':
      return `spec.volumes.persistentVolumeClaim is not supported yet (claims ${cause.claims.join(', ')})`
    case 'volumes':
      return volumeText(cause.problem)
    case 'resource-claims':
      return 'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter'
    case 'no-node-pools':
      return 'no dynamic nodepools found'
    case 'no-instance-types':
      return 'nodepool requirements filtered out all available instance types'
    case 'takes-too-long':
      return cause.what === 'pass'
        ? 'spec.affinity and topologySpreadConstraints take longer to plan than a pass has for pods with many; use fewer constraints and preferences'
        : 'spec.affinity and topologySpreadConstraints take too long to simulate; use fewer constraints and preferences'
    case 'min-values-cut': {
      const what = 'pod didn’t schedule because NodePool couldn’t meet minValues requirements, validating minValues'
      return structured(`${what}, ${minValuesText(cause.labels)}`, { NodePool: cause.nodePool })
    }
    case 'refused':
      return cause.refusals.map(refusalText).join('; ')
    case 'uninitialized-node': {
      const names = [cause.nodeClaim && `nodeclaim/${cause.nodeClaim}`, cause.node && `node/${cause.node}`]
      return `would schedule against uninitialized ${names.filter((name) => name !== undefined).join(', ')}`
    }
  }
}

export function ignoredText(reason: IgnoredReason): string {
  switch (reason.kind) {
    case 'not-on-karpenter':
      return `configured to not run on a Karpenter provisioned node (requirement=${labels.nodePool} DoesNotExist)`
    case 'match-fields':
      return 'node selector term with matchFields is not supported'
    case 'requirement':
      return reason.errors.join('; ')
    case 'volumes':
      return volumeText(reason.problem)
  }
}

function volumeText(problem: VolumeProblem): string {
  const { kind } = problem
  switch (kind) {
    case 'claim-not-found':
      return structured(`getting persistent volume claim, persistentvolumeclaims "${problem.claim}" not found`, {
        PersistentVolumeClaim: problem.claim,
      })
    case 'claim-deleting':
      return structured('persistentvolumeclaim is being deleted', { PersistentVolumeClaim: problem.claim })
    case 'claim-lost':
      return structured('persistentvolumeclaim bound to non-existent persistentvolume', {
        PersistentVolumeClaim: problem.claim,
        PersistentVolume: problem.volume,
      })
    case 'claim-volume-not-found':
    case 'claim-volume-deleting':
      return structured(
        `failed to validate pvc, ${kind === 'claim-volume-deleting' ? 'persistentvolume is being deleted' : volumeNotFound(problem.volume)}`,
        { PersistentVolumeClaim: problem.claim, PersistentVolume: problem.volume, StorageClass: problem.storageClass },
      )
    case 'claim-not-bound':
      return structured('pvc is considered unbound because it does not contain annotation', {
        annotation: 'pv.kubernetes.io/bind-completed',
        PersistentVolume: problem.volume,
        PersistentVolumeClaim: problem.claim,
      })
    case 'claim-without-class':
      return structured('unbound pvc must define a storage class', {
        PersistentVolumeClaim: problem.claim,
        StorageClass: '',
      })
    case 'claim-class-not-found':
    case 'claim-class-immediate':
      return structured(
        `failed to validate pvc, ${kind === 'claim-class-immediate' ? 'pvc with immediate volume binding mode must be bound' : `failed to get storage class, ${classNotFound(problem.storageClass)}`}`,
        { PersistentVolumeClaim: problem.claim, StorageClass: problem.storageClass },
      )
    case 'claim-in-use':
      return structured('persistentvolumeclaim with access mode ReadWriteOncePod is used by another pod', {
        PersistentVolumeClaim: problem.claim,
        Pod: problem.pod,
      })
    case 'volume-not-found':
      return volumeNotFound(problem.volume)
    case 'class-not-found':
      return classNotFound(problem.storageClass)
  }
}

const volumeNotFound = (name: string) => `persistentvolumes "${name}" not found`
const classNotFound = (name: string) => `storageclasses.storage.k8s.io "${name}" not found`

function refusalText(refusal: PoolRefusal): string {
  switch (refusal.kind) {
    case 'node-limit':
      return structured('node limits have been exhausted for nodepool', { NodePool: refusal.nodePool })
    case 'resource-limits':
      return structured('all available instance types exceed limits for nodepool', { NodePool: refusal.nodePool })
    case 'taints':
      return intoleranceText(refusal.taints)
    case 'volume-limit':
      return volumeLimitText(refusal)
    case 'incompatible': {
      const text = incompatibilityText(refusal.problem)
      if (refusal.by === 'topology') return text
      return `incompatible${refusal.by === 'volumes' ? ' volume' : ''} requirements, ${text}`
    }
    case 'unclaimable': {
      const text = unclaimableText(refusal.problem)
      return refusal.by === 'volumes' ? `incompatible volume requirements, ${text}` : text
    }
    case 'topology':
      return topologyText(refusal)
    case 'types':
      return typesText(refusal)
    case 'reservation':
      return reservationTexts[refusal.problem]
    case 'not-tried-again':
      return 'not tried again before the pass was stopped'
  }
}

/** Names the driver if one alone rules out every type. */
function volumeLimitText({ driver }: Extract<PoolRefusal, { readonly kind: 'volume-limit' }>): string {
  const message = 'would exceed volume limit for all instance type options'
  if (driver === undefined) return message
  const { name, volumes, limit } = driver
  return structured(message, { provisioner: name, 'volume-count': volumes, 'volume-limit': limit })
}

/** Returns why topology leaves nothing to choose; as upstream, without the last parenthesis. */
export function topologyText({ rule, key, counts, others, podDomains, nodeDomains }: TopologyRefusal): string {
  const shown = counts.map(([domain, pods]) => `${domain}: ${pods}`)
  const rest = others > 0 ? ` and ${others} other(s)` : ''
  return (
    `unsatisfiable topology constraint for ${rule}, key=${key} (counts = ${shown.join(', ')}${rest}, ` +
    `podDomains = ${describe(podDomains)}, nodeDomains = ${describe(nodeDomains)}`
  )
}

function typesText(refusal: Extract<PoolRefusal, { readonly kind: 'types' }>): string {
  const { problem, requirements, requests, overheads } = refusal
  const isTooLarge = problem.kind === 'unmet' && problem.criteria.length === 1 && problem.criteria[0] === 'resources'
  const hint = isTooLarge ? cpuHint(requests) : ''
  const resources = requestsText(overheads, requests)
  return `${typeProblemText(problem)}, requirements=${describeAll(requirements)}, resources=${resources}${hint}`
}

const unmetTexts: Readonly<Record<TypeCriterion, string>> = {
  requirements: 'met the scheduling requirements',
  resources: 'had enough resources',
  offering: 'had a required offering',
}

const onlyUnmetTexts: Readonly<Record<TypeCriterion, string>> = {
  requirements: 'no instance type met all requirements',
  resources: 'no instance type has enough resources',
  offering: 'no instance type has the required offering',
}

const notTogetherTexts: Readonly<Record<TypeCriterion, string>> = {
  offering: 'no instance type which met the scheduling requirements and had enough resources, had a required offering',
  requirements: 'no instance type which had enough resources and the required offering met the scheduling requirements',
  resources:
    'no instance type which met the scheduling requirements and the required offering had the required resources',
}

function typeProblemText(problem: TypeProblem): string {
  if (problem.kind === 'min-values') return minValuesText(problem.labels)
  if (problem.kind === 'not-together') return notTogetherTexts[problem.lacking]
  const [first, ...more] = problem.criteria
  if (first !== undefined && more.length === 0) return onlyUnmetTexts[first]
  return `no instance type ${problem.criteria.map((one) => unmetTexts[one]).join(' or ')}`
}

function minValuesText(keys: readonly string[]): string {
  return `minValues requirement is not met for label(s) (label(s)=[${keys.join(' ')}])`
}

const millionUnits = 1_000_000n * 1_000_000_000n

function cpuHint(requests: Resources): string {
  return (requests['cpu']?.nano ?? 0n) >= millionUnits ? ' (CPU request >= 1 Million, m vs M typo?)' : ''
}

/** Returns the requests with daemons: minimum and maximum where types differ. */
function requestsText(all: readonly Resources[], requests: Resources): string {
  const overheads = all.filter((overhead) => Object.keys(overhead).length > 0)
  if (overheads.length === 0) return resourcesText(requests)
  const least = resourcesText(mergeResources(minResources(...overheads), requests))
  const most = resourcesText(mergeResources(maxResources(...overheads), requests))
  return least === most ? least : `min=${least}, max=${most}`
}

function resourcesText(amounts: Resources): string {
  const sorted = Object.entries(formatResources(amounts)).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(Object.fromEntries(sorted))
}

const reservationTexts: Readonly<Record<ReservationProblem, string>> = {
  'none-left': 'one or more instance types with compatible reserved offerings are available, but could not be reserved',
  'all-full': 'all compatible reserved offerings are full and no on-demand or spot fallback is available',
  'would-lose-all': 'satisfying updated nodeclaim constraints would remove all compatible reserved offering options',
  'falls-through': 'the only compatible reserved offering is full; falling through to other NodePools',
}

/** Returns a message followed by its details, by name, in upstream's form. */
function structured(message: string, details: Readonly<Record<string, string | number>>): string {
  const listed = Object.keys(details)
    .sort()
    .map((key) => `${key}=${details[key]}`)
  return `${message} (${listed.join(', ')})`
}
