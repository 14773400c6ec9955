import { parseCancellations } from '../../../api/kept/cancellations.ts'
import {
  acceptedEntries,
  type Cancellations,
  cancellationRefusal,
  cancellationsMap,
  noCancellations,
  refusedEntries,
} from '../../../core/node-claim/cancellation.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import type { Pauses } from '../../../core/pauses/pauses.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { stateNodes } from '../../../core/scheduling/state-nodes.ts'
import { timeText } from '../../../core/values/time.ts'
import { activityScope } from '../../activity-context.ts'
import { findConfigMap, putConfigMap, writeConfigMap } from '../client/config-map.ts'
import { liveClaim, updateClaim } from '../client/object-writes.ts'
import { lockedPatch, writeOptimistically } from '../client/optimistic-write.ts'
import { resourcePath } from '../client/resources.ts'
import type { Asked, CancellationOutcome, ClaimRef } from '../contract.ts'
import type { Parts } from '../parts.ts'
import { type PauseDeps, readPauses } from '../pauses/pauses.ts'
import { countDisruption, type DisruptionCountDeps, deleteClaim } from './claim-deletion.ts'
import { type NodeRequestsDeps, reportAsked } from './node-requests.ts'

export type CancellationDeps = NodeRequestsDeps & PauseDeps & DisruptionCountDeps & Pick<Parts, 'log'>

/**
 * Deletes the claim of a lifecycle that was cancelled in Temporal, or says why not. Of many at once, on whatever replicas, only as many are applied
 * as the rules allow: each is written to one ConfigMap, under a lock, before its claim is deleted.
 */
export async function takeCancellation(
  deps: CancellationDeps,
  ref: ClaimRef,
  asked: Asked,
): Promise<CancellationOutcome> {
  const claim = await liveClaim(deps, ref)
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return { kind: 'late' }
  const why = await refusalOf(deps, claim)
  if (why !== undefined) return refused(deps, ref, { asked, why })
  const marked = await updateClaim(deps, ref, () => ({
    metadata: { annotations: { [annotations.cancelledAt]: timeText(asked.atMs) } },
  }))
  if (marked === undefined) return { kind: 'late' }
  let heldBy: string | undefined
  const mayGo = async (live: NodeClaim) => {
    heldBy = await refusalOf(deps, live)
    return heldBy === undefined
  }
  // The mark may have brought a hold with it that was written meanwhile.
  const isHeld = holdOf(marked, deps.now()) !== undefined && !(await mayGo(marked))
  const isDeleted = !isHeld && (await deleteClaim(deps, ref, { claim: marked, mayGo }))
  if (heldBy !== undefined) return refused(deps, ref, { asked, why: heldBy })
  if (!isDeleted) return { kind: 'late' }
  countDisruption(deps, marked, 'cancelled')
  const message = `the lifecycle of NodeClaim ${ref.name} was cancelled in Temporal: the NodeClaim is deleted`
  reportAsked(deps, ref, { reason: 'LifecycleCancelled', message, asked })
  deps.log.info({ nodeClaim: ref.name }, 'deleted nodeclaim, as its lifecycle was cancelled')
  return { kind: 'deleted' }
}

async function refused(
  deps: CancellationDeps,
  ref: ClaimRef,
  { asked, why }: { readonly asked: Asked; readonly why: string },
): Promise<CancellationOutcome> {
  const message = `the lifecycle of NodeClaim ${ref.name} was cancelled in Temporal and goes on: ${why}; to delete the node: kubectl delete nodeclaim ${ref.name}`
  reportAsked(deps, ref, { reason: 'CancellationRefused', message, asked })
  deps.log.warn({ nodeClaim: ref.name, why }, 'refused cancellation of lifecycle')
  // Else its end would be called a cancellation, whatever it ends for.
  await updateClaim(deps, ref, ({ metadata }) =>
    metadata.deletionTimestamp === undefined && metadata.annotations[annotations.cancelledAt] !== undefined
      ? lockedPatch({ metadata: { annotations: { [annotations.cancelledAt]: null } } }, metadata)
      : undefined,
  )
  try {
    const { cancellations = noCancellations } = (await read(deps)) ?? {}
    await writeConfigMap(deps.client, mapRef(deps), refusedEntries(ref.uid, cancellations, deps.now()))
  } catch (error) {
    // Only `joiner status` and `joiner doctor` show it.
    deps.log.warn({ err: error, nodeClaim: ref.name }, 'failed to record refused cancellation')
  }
  return { kind: 'refused', message }
}

/** Returns why a cancellation is refused; undefined once the ConfigMap has it as accepted. */
async function refusalOf(deps: CancellationDeps, claim: NodeClaim): Promise<string | undefined> {
  // Budgets count by the cache, so it must be a live one.
  await deps.cache.synced()
  await deps.cache.connected(activityScope().signal)
  const pauses = await readPauses(deps, deps.now())
  let why: string | undefined
  const path = resourcePath('configmaps', cancellationsMap, deps.namespace)
  const written = await writeOptimistically<Stored>({
    inTurn: (section) => deps.client.inTurn(path, section),
    cached: () => undefined,
    live: async () => (await read(deps)) ?? { cancellations: noCancellations },
    write: (stored) => {
      why = cancellationRefusal(claim, viewOf(deps, claim, { pauses, cancellations: stored.cancellations }))
      return why === undefined ? accept(deps, claim, stored) : undefined
    },
  })
  if (written === undefined) throw new Error(`ConfigMap ${cancellationsMap} was deleted while it was written`)
  return why
}

interface Stored {
  readonly cancellations: Cancellations
  /** Unset when there is no ConfigMap. */
  readonly version?: string
}

const mapRef = ({ namespace }: PauseDeps) => ({ name: cancellationsMap, namespace })

async function read({ client, namespace, note }: PauseDeps): Promise<Stored | undefined> {
  const map = await findConfigMap(client, { name: cancellationsMap, namespace })
  if (map === undefined) return undefined
  const { cancellations, faults } = parseCancellations(map.data ?? {})
  note?.(cancellationsMap, faults)
  return { cancellations, version: map.metadata.resourceVersion }
}

/** Errors: a conflict, when another process has written since. */
async function accept({ client, namespace, now }: CancellationDeps, claim: NodeClaim, stored: Stored): Promise<Stored> {
  const data = acceptedEntries(claim, stored.cancellations, now())
  await putConfigMap(client, { name: cancellationsMap, namespace, version: stored.version }, { data })
  return stored
}

function viewOf(
  { cache, now }: CancellationDeps,
  claim: NodeClaim,
  read: { readonly pauses: Pauses; readonly cancellations: Cancellations },
) {
  return {
    ...read,
    nodePool: cache.nodePools.get(claim.metadata.labels[labels.nodePool] ?? ''),
    nodes: stateNodes({ nodes: [...cache.nodes.values()], nodeClaims: [...cache.nodeClaims.values()] }),
    now: now(),
  }
}
