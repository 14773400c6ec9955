import { decodeNode, decodeNodeClaim } from '../../../activities/kubernetes/cache/decode.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isForbidden } from '../../../activities/kubernetes/client/api-error.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { faultText, type NoteFaults } from '../../../api/kept/document.ts'
import { withheldRemedy, withheldText } from '../../../api/withheld-machines.ts'
import { heldNodeText, holdersOf } from '../../../core/machines-in-use.ts'
import { joinsOf } from '../../../core/node-claim/node-owner.ts'
import type { Node } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { counted, few } from '../../document/words.ts'
import { readRefusedCancellations } from '../../view/cancellations.ts'
import { processesRead } from '../../view/processes-read.ts'
import { readWithheld } from '../../view/withheld.ts'
import { type Check, type Finding, ok, warn, worst } from './check.ts'
import type { DoctorContext } from './context.ts'

/** Objects that are named one by one, and machines without a NodeClaim. */
const mostNamed = 5
const mostMachines = 20

/** Whether each NodeClaim has its Node, and no Node poses as another's. */
export function nodesCheck({ kubernetes }: Pick<DoctorContext, 'kubernetes'>): Check {
  return {
    name: 'nodes',
    remedy: 'look at both: kubectl get nodes,nodeclaims -o wide',
    run: async () => {
      const [nodes, claims] = await Promise.all(
        (['nodes', 'nodeclaims'] as const).map((kind) => kubernetes.list(resourcePath(kind))),
      )
      return nodesFinding(nodes?.items ?? [], claims?.items ?? [])
    },
  }
}

/** Returns what is found of Nodes and NodeClaims. */
export function nodesFinding(nodes: readonly Json[], nodeClaims: readonly Json[]): Finding {
  const claims = nodeClaims
    .map((json) => decodeNodeClaim(json))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const decoded = nodes.map((json) => decodeNode(json))
  const { strangers, lost, claimOf } = joinsOf(decoded, claims)
  const held = decoded.filter((node) => holdersOf(node).length > 0)
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
export function lostClaimsCheck({ config, kubernetes }: DoctorContext): Check {
  return {
    name: 'lost nodeclaims',
    remedy: `look at what Joiner stored: kubectl get configmaps --namespace ${config.JOINER_NAMESPACE}`,
    run: async () => {
      const { source, faults } = noting({ config, kubernetes })
      const [{ atMs, count, costPerDay, doubt, machines }, claims] = await Promise.all([
        readWithheld(source),
        kubernetes.list(resourcePath('nodeclaims')),
      ])
      if (faults.length > 0) return unreadable(faults)
      const adopted = adoptedText(claims.items)
      if (count === 0) return ok(`no machine is known to run pods without a NodeClaim${adopted}`)
      return warn(
        `${counted(count, 'machine')} without a NodeClaim kept since pods run there, ${costPerDay.toFixed(2)} USD a day (found at ${new Date(atMs ?? 0).toISOString()})${adopted}`,
        [
          doubt ?? 'what becomes of them: joiner adopt --dry-run; to have that at once: joiner adopt',
          `to have one deleted: ${withheldRemedy('NODE')}`,
        ],
        machines.slice(0, mostMachines).map(withheldText),
      )
    },
  }
}

/** Returns which NodeClaims were made again for VMs that had lost theirs, and when the last one was. */
function adoptedText(nodeClaims: readonly Json[]): string {
  const adopted = nodeClaims
    .map((json) => decodeNodeClaim(json).metadata)
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
export function cancellationsCheck({ config, kubernetes }: DoctorContext): Check {
  return {
    name: 'cancelled lifecycles',
    remedy: `look at what Joiner stored: kubectl get configmap joiner-cancellations --namespace ${config.JOINER_NAMESPACE}`,
    run: async () => {
      const { source, faults } = noting({ config, kubernetes })
      let refused: string
      try {
        refused = await readRefusedCancellations(source, Date.now())
      } catch (error) {
        if (!isForbidden(error)) throw error
        return ok(
          'not looked at: this identity may not read the ConfigMap joiner-cancellations; joiner status shows it',
        )
      }
      if (faults.length > 0 && refused === '') return unreadable(faults)
      if (refused === '') return ok('no cancellation of a lifecycle in Temporal was refused within the last hour')
      return warn(refused, [
        'find out who cancels workflows: docs/temporal.md says what cancel, terminate and reset do',
      ])
    },
  }
}

/** Whether the documents that Joiner keeps in ConfigMaps can be read. */
export function keptDocumentsCheck(context: DoctorContext): Check {
  const { JOINER_NAMESPACE: namespace } = context.config
  return {
    name: 'kept documents',
    remedy: `look at what Joiner stored: kubectl get configmaps --namespace ${namespace}`,
    run: async () => {
      const { source, faults } = noting(context)
      const forbidden: string[] = []
      const reading = processesRead(source, context.now()).map(async ([name, read]) => {
        try {
          await read
        } catch (error) {
          if (!isForbidden(error)) throw error
          forbidden.push(name)
        }
      })
      await Promise.all(reading)
      if (faults.length > 0) return unreadable(faults)
      if (forbidden.length === 0) return ok('what Joiner keeps of Azure in ConfigMaps can be read')
      return ok(
        `not looked at, as this identity may not read them: ConfigMaps ${forbidden.join(', ')}; joiner status shows them`,
      )
    },
  }
}

/** Returns where ConfigMaps are read from, and what could not be read of them so far. */
function noting({ config, kubernetes }: Pick<DoctorContext, 'config' | 'kubernetes'>) {
  const { JOINER_NAMESPACE: namespace } = config
  const faults: string[] = []
  const note: NoteFaults = (name, found) => faults.push(...found.map((fault) => faultText(name, namespace, fault)))
  return { source: { client: kubernetes, namespace, note }, faults }
}

function unreadable(faults: readonly string[]): Finding {
  return warn(
    `${counted(faults.length, 'document')} in ConfigMaps of Joiner cannot be read, so what they say is not known`,
    ['find out who else writes ConfigMaps in the namespace of Joiner; each line says what ends it'],
    faults.slice(0, mostMachines),
  )
}
