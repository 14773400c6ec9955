import { type Adoption, type AdoptionOutcome, adoptedClaim } from '../../../core/adoption.ts'
import { isTrue } from '../../../core/conditions.ts'
import { allowedDisruptions } from '../../../core/disruption/budgets/budgets.ts'
import { nodeNamePrefix } from '../../../core/node-claim/node-names.ts'
import { owningClaim } from '../../../core/node-claim/node-owner.ts'
import { isDeleting, type Node, type NodeClaim, type NodePool } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { decodeNodeClaim } from '../../kubernetes/cache/decode.ts'
import { isConflict } from '../../kubernetes/client/api-error.ts'
import { resourcePath } from '../../kubernetes/client/resources.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { deleteClaim } from '../../kubernetes/lifecycle/claim-deletion.ts'
import { claimBody } from '../claim-body.ts'
import { refusalBefore, refusalOf } from '../claim-refusal.ts'
import { type CreateClaimsDeps, startLifecycle } from '../create-claims.ts'
import { readPool } from '../pool-limits.ts'

/**
 * Makes the NodeClaims of VMs again that lost them, under their old names, and starts their lifecycles, which take the VMs over. One that is there from an
 * attempt before is gone on with. What is to be drained since its Node is being deleted waits for its NodePool's budgets. Limits and pauses of provisioning
 * do not count: the machines are there. Errors: the API server's where they say nothing about a NodeClaim, once
 * all others were tried.
 */
export async function adoptMachines(
  deps: CreateClaimsDeps,
  machines: readonly Adoption[],
  signal: AbortSignal,
): Promise<readonly AdoptionOutcome[]> {
  await deps.cache.catchUp(['NodeClaim', 'Node'])
  const outcomes: AdoptionOutcome[] = []
  const failures: unknown[] = []
  // One after the other: budgets count what the one before has made.
  for (const machine of machines) {
    signal.throwIfAborted()
    try {
      const outcome = { claimName: machine.claimName, ...(await adoptOne(deps, machine, machines)) }
      report(deps, machine, outcome)
      outcomes.push(outcome)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return outcomes
}

type Outcome = Omit<AdoptionOutcome, 'claimName'>

async function adoptOne(deps: CreateClaimsDeps, machine: Adoption, all: readonly Adoption[]): Promise<Outcome> {
  const { nodePool: name, isLeaving, isToEnd } = machine
  const pool = await readPool(deps, name)
  if (pool === undefined || isDeleting(pool))
    return { kind: 'left', why: `NodePool "${name}" does not exist, or is being deleted; make it again` }
  if (isLeaving === true && isToEnd !== true && !hasRoom(deps, pool, { machine, all }))
    return { kind: 'waiting', why: `the budgets of NodePool ${name} let no more of its nodes be drained now` }
  const made = await createOrFind(deps, pool, machine)
  if (typeof made === 'string') return { kind: 'left', why: made }
  await startLifecycle(deps, made)
  if (isToEnd !== true) return { kind: 'adopted' }
  // Whoever may schedule activities must not end nodes by it that disruption would keep.
  if (isTrue(made.status.conditions, 'Registered')) {
    const { name: claimName } = made.metadata
    return { kind: 'left', why: `it is registered by now; to end it: kubectl delete nodeclaim ${claimName}` }
  }
  const others = machine.machine && (await nameVm(deps, made, { ...machine.machine, node: machine.node }))
  if (others !== undefined) return { kind: 'left', why: others }
  await deleteClaim(deps, made.metadata)
  return { kind: 'adopted' }
}

/**
 * Writes into a NodeClaim that ends before its launch which VM its AKS machine has: it is drained by the Node of that VM, and nothing else says its name.
 * Returns why that Node may be another NodeClaim's, which must not be drained for this one.
 */
async function nameVm(
  { client, cache }: CreateClaimsDeps,
  { metadata: { name } }: NodeClaim,
  { node: nodeName, providerId: providerID }: { readonly node: string; readonly providerId: string },
): Promise<string | undefined> {
  const node = cache.nodes.get(nodeName)
  const owner = node && owningClaim(node)
  const claims = cache.nodeClaims.by('byProviderId', providerID.toLowerCase())
  const isOwn =
    node?.providerId?.toLowerCase() === providerID.toLowerCase() &&
    (owner === undefined || owner.name === name) &&
    claims.every(({ metadata }) => metadata.name === name)
  if (!isOwn)
    return `Node ${nodeName} is not known as its own; it is adopted, and to end it: kubectl delete nodeclaim ${name}`
  cache.upsert('NodeClaim', await client.patchStatus(resourcePath('nodeclaims', name), { status: { providerID } }))
  return undefined
}

/** Returns the NodeClaim, or why there is none. */
async function createOrFind(deps: CreateClaimsDeps, pool: NodePool, machine: Adoption): Promise<NodeClaim | string> {
  const { claimName: name, claimUid = 'unknown' } = machine
  const node = deps.cache.nodes.get(machine.node)
  const added = {
    ...hashesOf(node, machine),
    [annotations.adoptedFrom]: claimUid,
    // Its own UID is not known yet.
    ...(machine.machine && { [annotations.aksMachine]: machine.machine.id, [annotations.adoptedMachine]: claimUid }),
  }
  const body = claimBody(pool, adoptedClaim(pool, machine, node), { name, annotations: added })
  const early = refusalBefore(body)
  if (early !== undefined) return early
  try {
    const json = await deps.client.create(resourcePath('nodeclaims'), body)
    deps.cache.upsert('NodeClaim', json)
    return decodeNodeClaim(json)
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal !== undefined) return refusal
    if (!isConflict(error)) throw error
  }
  const json = await deps.client.get(resourcePath('nodeclaims', name))
  deps.cache.upsert('NodeClaim', json)
  const found = decodeNodeClaim(json)
  if (found.metadata.annotations[annotations.adoptedFrom] === claimUid) return found
  return `there is a NodeClaim ${name} that was not made for this VM; delete it if its VM is not wanted: kubectl delete nodeclaim ${name}`
}

/** Returns what the Node remembers of the template and class that its VM was made from, which drift compares. */
function hashesOf(node: Node | undefined, { nodePool }: Adoption): Record<string, string> {
  if (node?.metadata.labels[labels.nodePool] !== nodePool) return {}
  const { nodePoolHash, nodePoolHashVersion, nodeClassHash, nodeClassHashVersion } = annotations
  const keys = [nodePoolHash, nodePoolHashVersion, nodeClassHash, nodeClassHashVersion]
  const known = Object.entries(node.metadata.annotations).filter(([key]) => keys.includes(key as (typeof keys)[number]))
  return known.length === keys.length ? Object.fromEntries(known) : {}
}

/** Whether one more node of a NodePool may leave now, beside those that do or that disruption has chosen. */
function hasRoom(
  { cache, now }: CreateClaimsDeps,
  pool: NodePool,
  { machine, all }: { readonly machine: Adoption; readonly all: readonly Adoption[] },
): boolean {
  const { name } = pool.metadata
  // One that an earlier attempt has made has its place.
  const claims = cache.nodeClaims.by('byNodePool', name).filter((one) => one.metadata.name !== machine.claimName)
  const known = new Set(claims.map(({ metadata }) => metadata.name))
  const without = all.filter(({ nodePool, claimName }) => nodePool === name && !known.has(claimName)).length
  // Of those that were made just now the status names no Node yet, and AKS gives the Nodes of its machines names of its own.
  const nodeNames = new Map(all.map(({ claimName, node }) => [claimName, node]))
  const leaves = (claim: NodeClaim) => {
    const { name: own } = claim.metadata
    const node = cache.nodes.get(nodeNames.get(own) ?? claim.status.nodeName ?? `${nodeNamePrefix}${own}`)
    const isChosen = claim.metadata.annotations[annotations.disruptionCommand] !== undefined
    return isDeleting(claim) || isChosen || (node !== undefined && isDeleting(node))
  }
  const { budgets } = pool.disruption
  // Budgets of single reasons do not concern it.
  // A pass has a hundred of those that lost their NodeClaims, and the cluster may have thousands.
  const labelled = [...cache.nodes.values()].filter(({ metadata }) => metadata.labels[labels.nodePool] === name).length
  const nodes = Math.max(claims.length + without, labelled)
  const { allowed } = allowedDisruptions({ budgets, nodes, reason: '', now: now() })
  return claims.filter(leaves).length < allowed
}

/** Publishes it on the Node, which people read. */
function report({ cache, events, log }: CreateClaimsDeps, machine: Adoption, { kind, why }: AdoptionOutcome): void {
  const { claimName, node: nodeName, isLeaving, isToEnd } = machine
  const node = cache.nodes.get(nodeName)
  const end = isLeaving === true || isToEnd === true ? '; it is drained and ends' : ''
  const message =
    kind === 'adopted'
      ? `NodeClaim ${claimName}, which was lost, is made again for the VM of Node ${nodeName}${end}`
      : `NodeClaim ${claimName}, which was lost, is not made again: ${why}`
  log.warn({ nodeClaim: claimName, node: nodeName, kind, ...(why === undefined ? {} : { why }) }, 'adoption of a VM')
  const reason = kind === 'adopted' ? 'NodeAdopted' : 'NodeNotAdopted'
  if (node !== undefined) events.record({ about: subject(node), reason, message, values: [node.metadata.uid, kind] })
}
