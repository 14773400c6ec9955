// VMs that lost their NodeClaims and run pods: which of them get a NodeClaim again, and why the others do not.
import { isNodeOfSomeClaim, isOwnNodeOfVm, owningClaim } from './node-claim/node-owner.ts'
import { isDeleting, type Node, type NodePool } from './objects.ts'
import { subdomainErrors } from './requirements/label-syntax.ts'
import { labels, wellKnownLabels } from './requirements/labels.ts'
import { allows, inValues } from './requirements/requirement.ts'
import { merge, requirementsOfLabels, serializeAll } from './requirements/requirements.ts'
import type { PlannedNodeClaim } from './scheduling/snapshot.ts'
import { staticClaim } from './static-capacity/static-claim.ts'

/** A VM without a NodeClaim, as its tags and Azure say, or those of its AKS machine, and the Node that keeps it. */
export interface LostVm {
  readonly name: string
  /** ARM id and provider id. */
  readonly id: string
  readonly providerId: string
  readonly claimName: string
  /** Unset when Karpenter made it. */
  readonly claimUid?: string
  readonly nodePool?: string
  readonly instanceType: string
  readonly zone: string
  readonly capacityType: string
  readonly isFailed: boolean
  /** Why its tags do not prove that it is this cluster's, to follow its name. */
  readonly foreign?: string
  readonly node: Node
  /** Epoch ms: since when it is known to be kept. */
  readonly sinceMs: number
  /** Id of its AKS machine. Unset: it is a VM of Joiner. */
  readonly machine?: string
  /** What an operator calls it. Default: its name. */
  readonly listedAs?: string
}

/** What the process that creates NodeClaims has to know of a VM. */
export interface Adoption extends Pick<LostVm, 'claimName' | 'claimUid' | 'instanceType' | 'zone' | 'capacityType'> {
  readonly nodePool: string
  readonly node: string
  /** Its Node is being deleted, so it is drained and ends. */
  readonly isLeaving?: true
  /** An operator wants it drained and ended. */
  readonly isToEnd?: true
  /** Its AKS machine, whose name and VM's name follow from nothing else. */
  readonly machine?: { readonly id: string; readonly providerId: string }
}

/** What became of it. `waiting`: its NodePool's budgets let no more be drained at once. */
export interface AdoptionOutcome {
  readonly claimName: string
  readonly kind: 'adopted' | 'waiting' | 'left'
  readonly why?: string
}

/** What becomes of a VM. `differs`: where its Node or its NodePool contradicts its tags. */
type AdoptionVerdict = { readonly differs?: string } & (
  | { readonly kind: 'adopt' | 'drain' }
  | { readonly kind: 'left'; readonly why: string; readonly remedy: string }
)

/** Which VMs an operator asked for, by name. Unset: all. `end`: they are drained and end. */
export interface AskedAdoption {
  readonly names?: readonly string[]
  readonly end?: true
}

export interface AdoptionPlan {
  /** In the order of the VMs. */
  readonly verdicts: readonly AdoptionVerdict[]
  /** Why nothing is adopted unless an operator asks. */
  readonly doubt?: string
  readonly due: readonly Adoption[]
}

/** The time for which a VM is kept before it is adopted by itself: whoever lost its NodeClaim may be about to bring it back. */
export const adoptAfterMs = 10 * 60_000

/** NodeClaims that one pass makes. The next one makes the others. */
const mostAtOnce = 100

/** Decides what becomes of VMs without NodeClaims. `poolOf`: the NodePool of a name. */
export function adoptionPlan(
  vms: readonly LostVm[],
  poolOf: (name: string) => NodePool | undefined,
  { now, asked }: { readonly now: number; readonly asked?: AskedAdoption | undefined },
): AdoptionPlan {
  const verdicts = vms.map((vm) => verdictOf(vm, vm.nodePool === undefined ? undefined : poolOf(vm.nodePool)))
  const differing = verdicts.filter(({ differs }) => differs !== undefined).length
  const doubt =
    differing * 2 > vms.length
      ? `of ${differing} of ${vms.length} VMs without a NodeClaim the tags contradict Node or NodePool, so none is adopted by itself: Joiner may have another cluster's settings, or the cluster another time's objects. Look at them: joiner admin adopt --dry-run; if they are right: joiner admin adopt`
      : undefined
  const isDue = ({ name, sinceMs, listedAs = name }: LostVm) =>
    asked === undefined
      ? doubt === undefined && now - sinceMs >= adoptAfterMs
      : asked.names === undefined || asked.names.includes(listedAs)
  const due = vms
    .filter((vm, index) => verdicts[index]?.kind !== 'left' && isDue(vm))
    .map((vm) => adoptionOf(vm, asked?.end === true))
  return { verdicts, ...(doubt === undefined ? {} : { doubt }), due: inTurn(due).slice(0, mostAtOnce) }
}

/** Those that are kept come first, then those that are drained, of each NodePool in turn: whose budgets let none go holds up nobody else. */
function inTurn(due: readonly Adoption[]): readonly Adoption[] {
  const ofPools = Map.groupBy(due, ({ nodePool }) => nodePool)
  const place = new Map([...ofPools.values()].flatMap((own) => own.map((one, at) => [one, at] as const)))
  const rank = (one: Adoption) => (one.isLeaving === true ? due.length : 0) + (place.get(one) ?? 0)
  return due.toSorted((a, b) => rank(a) - rank(b))
}

function adoptionOf(
  { claimName, nodePool = '', instanceType, zone, capacityType, node, ...vm }: LostVm,
  isToEnd: boolean,
): Adoption {
  const claimUid = vm.claimUid ?? owningClaim(node)?.uid
  return {
    claimName,
    ...(claimUid === undefined ? {} : { claimUid }),
    nodePool,
    instanceType,
    zone,
    capacityType,
    node: node.metadata.name,
    ...(isDeleting(node) ? { isLeaving: true } : {}),
    ...(isToEnd ? { isToEnd: true } : {}),
    ...(vm.machine === undefined ? {} : { machine: { id: vm.machine, providerId: vm.providerId } }),
  }
}

function verdictOf(vm: LostVm, pool: NodePool | undefined): AdoptionVerdict {
  const differs = differenceOf(vm, pool)
  const why = whyLeft(vm, pool)
  const verdict =
    why === undefined ? ({ kind: isDeleting(vm.node) ? 'drain' : 'adopt' } as const) : { kind: 'left' as const, ...why }
  return { ...verdict, ...(differs === undefined ? {} : { differs }) }
}

/** Returns where Node and NodePool contradict a VM's tags. Of labels only those count that a registration writes and nothing changes. */
function differenceOf({ nodePool, instanceType, zone, foreign, node, ...vm }: LostVm, pool: NodePool | undefined) {
  if (foreign !== undefined) return `VM ${foreign}`
  if (nodePool !== undefined && pool === undefined) return `NodePool "${nodePool}" does not exist`
  const owner = owningClaim(node)
  if (owner !== undefined && !isOwnerOf(vm, owner))
    return `Node ${node.metadata.name} has another NodeClaim as its owner`
  const wanted = { [labels.nodePool]: nodePool, [labels.instanceType]: instanceType, [labels.zone]: zone }
  const [other] = Object.entries(wanted).filter(([key, value]) => {
    const label = node.metadata.labels[key]
    return label !== undefined && label !== value
  })
  if (other === undefined) return undefined
  const [key, value = 'none'] = other
  return `label ${key} of Node ${node.metadata.name} is "${node.metadata.labels[key]}", and of the VM it is "${value}"`
}

/** Whether an owner reference may be that of a VM's lost NodeClaim. */
function isOwnerOf(
  { claimName, claimUid }: Pick<LostVm, 'claimName' | 'claimUid'>,
  owner: { name: string; uid: string },
) {
  return owner.name === claimName && (claimUid === undefined || claimUid === owner.uid)
}

interface Left {
  readonly why: string
  readonly remedy: string
}

/** Returns why a VM gets no NodeClaim: nothing says what it was, or its Node would not be that NodeClaim's, which would end both. */
function whyLeft(vm: LostVm, pool: NodePool | undefined): Left | undefined {
  const { id, claimName, nodePool, node } = vm
  const drained = `to have it deleted: kubectl drain ${node.metadata.name} --ignore-daemonsets --delete-emptydir-data`
  if (vm.foreign !== undefined)
    return {
      why: `VM ${vm.foreign}`,
      remedy: `if it is this cluster's, correct CLUSTER_NAME, or the tags: az tag update --operation merge --resource-id ${id} --tags NAME=VALUE; else find out who registered Node ${node.metadata.name}`,
    }
  if (nodePool === undefined)
    return { why: 'its tags name no NodePool, so nothing says how it was made', remedy: drained }
  if (pool === undefined || isDeleting(pool))
    return {
      why: `its NodePool "${nodePool}" ${pool === undefined ? 'does not exist' : 'is being deleted'}`,
      remedy: `make the NodePool again, and the VM is adopted; ${drained}`,
    }
  if (vm.isFailed) return { why: 'Azure calls it Failed', remedy: `az vm reapply --ids ${id}` }
  if (subdomainErrors(claimName).length > 0)
    return { why: `no NodeClaim can be called "${claimName}"`, remedy: drained }
  if (!isOwnNodeOfVm(node, vm))
    return {
      why: `Node ${node.metadata.name} names it and is not its own Node`,
      remedy: `find out who registered that Node; ${drained}`,
    }
  if (!isNodeOfSomeClaim(node))
    return {
      why: `its Node ${node.metadata.name} has neither a NodeClaim as its owner nor a label of Karpenter, so it would count as no NodeClaim's`,
      remedy: `if it is this NodePool's: kubectl label node ${node.metadata.name} ${labels.nodePool}=${nodePool}; ${drained}`,
    }
  const owner = owningClaim(node)
  if (owner !== undefined && !isOwnerOf(vm, owner))
    return {
      why: `its Node says that NodeClaim ${owner.name} with the UID ${owner.uid} owns it, and its tags say another`,
      remedy: `if the tags are right: kubectl patch node ${node.metadata.name} --type=merge -p '{"metadata":{"ownerReferences":null}}'`,
    }
  return undefined
}

/**
 * Returns the NodeClaim of a VM that is there: its size, place and way of buying are facts, whatever its NodePool allows by now, and drift compares them.
 * The rest is the NodePool's template's. Of its own labels the Node has those values that the template allows.
 */
export function adoptedClaim(
  nodePool: NodePool,
  { instanceType, zone, capacityType }: Adoption,
  node: Node | undefined,
): PlannedNodeClaim {
  const made = staticClaim(nodePool)
  // What follows from a size the launch writes into labels.
  const own = [...made.wanted].filter(([key]) => !wellKnownLabels.has(key) || key === labels.nodePool)
  const isAllowed = ([key, value]: readonly [string, string]) =>
    own.some(([name, set]) => name === key && allows(set, value))
  const kept = Object.fromEntries(Object.entries(node?.metadata.labels ?? {}).filter(isAllowed))
  const wanted = merge(new Map(own), [
    inValues(labels.instanceType, [instanceType]),
    inValues(labels.zone, [zone]),
    inValues(labels.capacityType, [capacityType]),
    ...requirementsOfLabels(kept).values(),
  ])
  return {
    ...made,
    wanted,
    requirements: serializeAll(wanted),
    labels: { ...made.labels, ...kept },
    instanceTypes: [instanceType],
  }
}
