import { withheldRemedy, withheldText } from '../../../api/withheld-machines.ts'
import { heldNodeText, holdersOf } from '../../../core/machines-in-use.ts'
import { joinsOf } from '../../../core/node-claim/node-owner.ts'
import type { Node, NodeClaim } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { counted, few } from '../../document/words.ts'
import { clusterScene, nodeClaims, nodes } from '../../picture/from-cluster.ts'
import type { Gaps } from '../../picture/gaps.ts'
import { ofProcesses, refusedCancellations, withheld } from '../../picture/kept.ts'
import { needed, readPicture, readWhole, type Scene } from '../../picture/picture.ts'
import { type DoctorContext, type Finding, ok, warn, worst } from './check.ts'

/** Objects that are named one by one, and machines without a NodeClaim. */
const mostNamed = 5
const mostMachines = 20

/** Whether each NodeClaim has its Node, and no Node poses as another's. */
export async function examineNodes({ kubernetes }: DoctorContext): Promise<Finding> {
  const found = await readWhole(clusterScene(kubernetes), { nodes, nodeClaims })
  return nodesFinding(found.nodes, found.nodeClaims)
}

/** Returns what is found of Nodes and NodeClaims. */
export function nodesFinding(all: readonly Node[], claims: readonly NodeClaim[]): Finding {
  const staying = claims.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const { strangers, lost, claimOf } = joinsOf(all, staying)
  const held = all.filter((node) => holdersOf(node).length > 0)
  const findings = [
    ...(held.length === 0 ? [] : [heldByOthers(held)]),
    ...(strangers.size === 0 ? [] : [posing([...strangers])]),
    ...(lost.size === 0 ? [] : [gone([...lost])]),
  ]
  return findings.length > 0 ? worst(findings) : ok(`all ${claimOf.size} Nodes of NodeClaims are their own`)
}

interface Named {
  readonly metadata: { readonly name: string }
}

function posing(strangers: readonly (readonly [Named, Named])[]): Finding {
  const names = strangers.slice(0, mostNamed).map(([node]) => node.metadata.name)
  return warn(
    `${strangers.length} Nodes have the provider id of a NodeClaim's VM and are not its Node; Joiner leaves them alone`,
    [`find out who registered them, then: kubectl delete node ${names.join(' ')}`],
    strangers
      .slice(0, mostNamed)
      .map(
        ([node, claim]) =>
          `Node ${node.metadata.name}: spec.providerID names the VM of NodeClaim ${claim.metadata.name}`,
      ),
  )
}

function heldByOthers(held: readonly Node[]): Finding {
  return warn(
    `${counted(held.length, 'Node')} held by finalizers that are not Joiner's, without a VM`,
    ['find out who set the finalizers; each line says how to remove them'],
    held.slice(0, mostNamed).map(heldNodeText),
  )
}

function gone(lost: readonly Named[]): Finding {
  const names = lost.slice(0, mostNamed).map(({ metadata }) => metadata.name)
  return warn(
    `${lost.length} NodeClaims have lost their Node; each ends with its VM two minutes later, a fifth of a NodePool in ten minutes`,
    [
      'find out who deletes Nodes and removes their finalizers',
      `to end them now: kubectl delete nodeclaim ${names.join(' ')}`,
    ],
    names.map((name) => `NodeClaim ${name}: kubectl describe nodeclaim ${name} says since when (condition NodeGone)`),
  )
}

/** Whether machines run pods without a NodeClaim, as the last pass of garbage collection found. */
export async function examineLostClaims(context: DoctorContext): Promise<Finding> {
  const picture = await readWhole(keptScene(context), { withheld, nodeClaims })
  if (picture.damaged.length > 0) return unreadable(picture.damaged)
  const { atMs, count, costPerDay, doubt, machines } = picture.withheld
  const adopted = adoptedText(picture.nodeClaims)
  if (count === 0) return ok(`no machine is known to run pods without a NodeClaim${adopted}`)
  return warn(
    `${counted(count, 'machine')} without a NodeClaim kept since pods run there, ${costPerDay.toFixed(2)} USD a day (found at ${new Date(atMs ?? 0).toISOString()})${adopted}`,
    [
      doubt ?? 'what becomes of them: joiner admin adopt --dry-run; to have that at once: joiner admin adopt',
      `to have one deleted: ${withheldRemedy({ node: 'NODE' })}`,
    ],
    machines.slice(0, mostMachines).map(withheldText),
  )
}

/** Returns which NodeClaims were made again for VMs that had lost theirs, and when the last one was. */
function adoptedText(claims: readonly NodeClaim[]): string {
  const adopted = claims
    .map(({ metadata }) => metadata)
    .filter(({ annotations: noted }) => noted[annotations.adoptedFrom] !== undefined)
  const [last, ...names] = [
    adopted
      .map(({ creationTimestamp }) => creationTimestamp)
      .toSorted()
      .at(-1),
    ...adopted.map(({ name }) => name),
  ]
  return last === undefined
    ? ''
    : `; ${counted(adopted.length, 'NodeClaim')} made again, the last at ${last}: ${few(names, mostNamed)}`
}

/** Whether lifecycles were cancelled in Temporal by mistake: their nodes stay. */
export async function examineCancellations(context: DoctorContext): Promise<Finding> {
  const picture = await readPicture(keptScene(context), { refusedCancellations })
  const notAllowed = unallowed(picture)
  if (notAllowed !== undefined) return notAllowed
  const text = needed(picture, { refusedCancellations }).refusedCancellations
  if (picture.damaged.length > 0 && text === '') return unreadable(picture.damaged)
  if (text === '') return ok('no cancellation of a lifecycle in Temporal was refused within the last hour')
  return warn(text, [
    'find out who cancels workflows: docs/temporal-access.md says what cancel, terminate and reset do',
  ])
}

/** Whether the documents that Joiner keeps in ConfigMaps can be read. */
export async function examineKeptDocuments(context: DoctorContext): Promise<Finding> {
  const picture = await readPicture(keptScene(context), ofProcesses)
  if (picture.damaged.length > 0) return unreadable(picture.damaged)
  const notAllowed = unallowed(picture)
  if (notAllowed !== undefined) return notAllowed
  needed(picture, ofProcesses)
  return ok('what Joiner keeps of Azure in ConfigMaps can be read')
}

const keptScene = ({ config, kubernetes, now }: DoctorContext): Scene => ({
  client: kubernetes,
  namespace: config.JOINER_NAMESPACE,
  now: now(),
})

export const lookAtKept = ({ config }: DoctorContext) =>
  `look at what Joiner stored: kubectl get configmaps --namespace ${config.JOINER_NAMESPACE}`

/** The identity that runs the doctor need not have the rights of an operator. */
function unallowed({ missing }: Gaps): Finding | undefined {
  const names = missing.filter(({ isForbidden }) => isForbidden).map(({ what }) => what)
  return names.length === 0
    ? undefined
    : ok(`not looked at, as this identity may not read them: ${names.join(', ')}; joiner status shows them`)
}

function unreadable(faults: readonly string[]): Finding {
  return warn(
    `${counted(faults.length, 'document')} in ConfigMaps of Joiner cannot be read, so what they say is not known`,
    ['find out who else writes ConfigMaps in the namespace of Joiner; each line says what ends it'],
    faults.slice(0, mostMachines),
  )
}
