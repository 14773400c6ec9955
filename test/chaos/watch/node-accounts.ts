import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isTrue } from '../../../core/conditions.ts'
import { evictionBlockedBy } from '../../../core/disruption/budgets/pod-disruption-budgets.ts'
import { consolidatableAt } from '../../../core/disruption/consolidatable.ts'
import { type Cause, podsOf } from '../../../core/disruption/verdicts/cause.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import { hasDoNotDisrupt, isActive, isReschedulable, podName } from '../../../core/pods/pod-rules.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { nodeReport } from '../../../starter/answers/node-report.ts'
import type { NodePicture } from '../../../starter/picture/node-picture.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'
import { detailsOfNode } from './answers.ts'
import { isGoing } from './objects-seen.ts'
import { rowUntruths, runningIds } from './row-untruths.ts'
import { everyNth, Lasting, type Untruth } from './wrong.ts'

/** How far what is said of a node may be behind: the cluster is evaluated each five minutes where nothing changes, and half a minute later it is said. */
const mostBehindMs = 7 * 60_000
/** What a report of a pause may be behind: it says itself when the last evaluation was, and after eleven minutes that this is old. */
const mostOldMs = 12 * 60_000

type Details = NonNullable<Awaited<ReturnType<typeof detailsOfNode>>['details']>

/** Holds what `joiner node NAME`, and in it `joiner why node`, say of a node at a time against the objects that there are then. */
export class NodeAccounts {
  readonly #scene: Scene
  /** By the names of NodeClaims. */
  readonly #lasting = new Lasting()
  #looks = 0

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** Something is wrong that an account may not have caught up with. */
  forget(): void {
    this.#lasting.keep([])
  }

  /** Looks at one node, in turn, and at those of which something was said that was not so. Returns what has not been so for too long. */
  async look(): Promise<readonly string[]> {
    const names = this.#scene.fast.cluster.server.objects.of('nodeclaims').map((claim) => metaOf(claim).name)
    this.#lasting.keep(names)
    this.#looks += 1
    const turn = this.#looks / everyNth.node
    const next = Number.isInteger(turn) ? names[turn % names.length] : undefined
    const all = new Set([...this.#lasting.subjects, ...(next === undefined ? [] : [next])])
    return (await Promise.all([...all].map((name) => this.#lookAt(name)))).flat()
  }

  async #lookAt(name: string): Promise<readonly string[]> {
    const { details, picture } = await detailsOfNode(this.#scene, name)
    this.#scene.count('accounts of nodes')
    const untrue =
      details === undefined
        ? [{ what: 'it is said that there is none of this name', mostMs: 0 }]
        : [
            ...rowUntruths(this.#scene, details.row, runningIds(this.#scene)),
            ...this.#ofMachine(name, details),
            ...this.#ofPods(name, details),
            ...this.#ofCommand(details),
            ...this.#ofRemedies(details),
            ...(picture === undefined ? [] : this.#ofMoves(picture)),
          ]
    return this.#lasting.look(name, untrue, this.#scene.nowMs).map((what) => `node ${name}: ${what}`)
  }

  #ofMoves(picture: NodePicture): readonly Untruth[] {
    const { evaluation, warning } = nodeReport(picture)
    // The account itself says that it is old.
    const moves = warning === undefined ? (evaluation?.moves ?? []) : []
    for (const { outcome } of moves) this.#scene.count(`accounts of nodes: ${outcome}`)
    return moves
      .filter(({ cause }) => !isSo(cause, picture) || !isStillSo(cause, picture))
      .map(({ cause, message }) => ({
        key: cause.kind,
        what: `it is said to stay as ${message}, which has not been so for minutes`,
        mostMs: isSo(cause, picture) ? mostOldMs : mostBehindMs,
      }))
  }

  /** What a node is, Azure knows. */
  #ofMachine(name: string, { report }: Details): readonly Untruth[] {
    const machine = this.#scene.fast.azure.deps.machines.get(this.#scene.vmNameOf(name))
    if (machine === undefined || report?.instanceType === undefined) return []
    const { properties, zones = [] } = machine.body
    const truth = {
      instanceType: properties.hardwareProfile.vmSize,
      capacityType: properties.priority === 'Spot' ? 'spot' : 'on-demand',
      zone: zones.length === 0 ? report.zone : `${machine.body.location}-${zones[0]}`,
    }
    return (['instanceType', 'capacityType', 'zone'] as const)
      .filter((what) => report[what] !== truth[what])
      .map((what) => ({ what: `its ${what} is said to be ${report[what]}, and is ${truth[what]}`, mostMs: 0 }))
  }

  /** A NodeClaim that is made again for a VM that is to be drained never learns of its Node, and its drain does. */
  #ofPods(name: string, { report, lifecycle }: Details): readonly Untruth[] {
    const { objects } = this.#scene.fast.cluster.server
    const pods = objects.of('pods').filter((pod) => nodeOf(pod) === (report?.node ?? this.#scene.vmNameOf(name)))
    const active = pods.filter((pod) => !isGoing(pod) && !hasEnded(pod)).length
    const holds = lifecycle === undefined || lifecycle.status === 'silent' ? [] : (lifecycle.status?.drain?.on ?? [])
    const gone = holds.filter(({ what }) => {
      const [, first, second = first] = /^pod (\S+)|\(Pod=([^,)]+)/.exec(what) ?? []
      return second !== undefined && !pods.some((pod) => second === `default/${metaOf(pod).name}`)
    })
    return [
      ...(report?.node === undefined || report.pods === active
        ? []
        : [{ key: 'pods', what: `${report.pods} pods are said to be there, of ${active}`, mostMs: 0 }]),
      ...gone.map(({ what }) => ({ what: `it is said to be held up by ${what}, which is not there`, mostMs: 0 })),
    ]
  }

  /** The command that has a node runs, or the node is given back. */
  #ofCommand({ report }: Details): readonly Untruth[] {
    const workflow = report?.command?.workflow
    if (workflow === undefined || report === undefined) return []
    if (report.state.some((line) => line.includes('is being deleted')) || runningIds(this.#scene).has(workflow))
      return []
    return [{ what: `it is said to be disrupted by ${workflow}, which does not run`, mostMs: mostOldMs }]
  }

  #ofRemedies({ row, report, claim }: Details): readonly Untruth[] {
    const isLeaving = claim?.metadata.deletionTimestamp !== undefined
    const isHeld = row.hold !== undefined
    const told = report?.remedies ?? []
    return [
      ...(told.some((remedy) => remedy.includes('node release')) && !isHeld
        ? [{ what: 'it is said to be released, and nobody holds it', mostMs: mostBehindMs }]
        : []),
      ...(told.some((remedy) => remedy.includes('force-finish')) && !isLeaving
        ? [{ what: 'its deletion is said to be finished, and it is not being deleted', mostMs: 0 }]
        : []),
    ]
  }
}

const nodeOf = (pod: Json) => (pod as { readonly spec?: { readonly nodeName?: string } }).spec?.nodeName

function hasEnded(pod: Json): boolean {
  const { phase } = (pod as { readonly status?: { readonly phase?: string } }).status ?? {}
  return phase === 'Succeeded' || phase === 'Failed'
}

/** Whether a cause can be seen in the objects themselves, where it can. */
function isSo(cause: Cause, { node, claim, pool, pods, now }: NodePicture): boolean {
  if (claim === undefined) return true
  const { conditions } = claim.status
  const { deletionTimestamp, annotations: own } = claim.metadata
  switch (cause.kind) {
    case 'held':
      return holdOf(claim, now) !== undefined
    case 'do-not-disrupt':
      return [own, node?.metadata.annotations ?? {}].some((one) => one[annotations.doNotDisrupt] === 'true')
    case 'pod-do-not-disrupt':
      return pods.some((pod) => podName(pod) === cause.pod && hasDoNotDisrupt(pod, now))
    case 'no-node':
      return node === undefined
    case 'no-node-pool':
      return pool === undefined
    case 'leaving':
      return (
        [deletionTimestamp, node?.metadata.deletionTimestamp].some((time) => time !== undefined) ||
        annotations.disruptionCommand in own ||
        annotations.interrupted in own
      )
    case 'not-initialized':
      return !isTrue(conditions, 'Initialized')
    case 'not-drifted':
      return !isTrue(conditions, 'Drifted')
    case 'rebooting':
      return isTrue(conditions, 'Rebooting')
    default:
      return true
  }
}

/** The same of causes that pods, budgets, pauses and NodePools show, which change more often. */
function isStillSo(cause: Cause, { claim, pool, pods, budgets, pauses, now }: NodePicture): boolean {
  const moving = pods.filter((pod) => isActive(pod) && isReschedulable(pod))
  switch (cause.kind) {
    case 'pdb':
    case 'several-pdbs':
      return pods.some((pod) => podName(pod) === cause.pod && evictionBlockedBy(pod, budgets, now) !== undefined)
    case 'paused':
      return pauses.inForce.length > 0
    case 'consolidation-disabled':
      return pool?.disruption.consolidateAfter === 'Never'
    case 'only-when-empty':
      return pool?.disruption.consolidationPolicy === 'WhenEmpty' && moving.length > 0
    case 'not-consolidatable': {
      const at = claim && pool && consolidatableAt(claim, pool)
      return at === undefined || at > now
    }
    case 'empty':
      return moving.length === 0
    case 'not-empty':
      return moving.length > 0
    case 'pods-without-place':
      return podsOf(cause).pods.some(({ name }) => pods.some((pod) => podName(pod) === name))
    default:
      return true
  }
}
