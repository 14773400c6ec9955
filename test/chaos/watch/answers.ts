// Answers of Joiner's commands about a world of chaos, by the functions that the command line makes them with.
import type { Connection } from '@temporalio/client'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { defined } from '../../../core/values/defined.ts'
import { clusterName } from '../../../deploy/local/cluster.ts'
import { nodeDocument, nodeReport } from '../../../starter/answers/node-report.ts'
import { podDocument, podReport } from '../../../starter/answers/pod-report.ts'
import {
  detailsDocument,
  detailsJson,
  detailsOf,
  isWhole,
  type NodeFacts,
  nodeRows,
  rowNamed,
} from '../../../starter/cli/node/report.ts'
import { isWell, type StatusReport, statusParts } from '../../../starter/cli/status/status.ts'
import { statusDocument, statusJson } from '../../../starter/cli/status/table.ts'
import type { Document } from '../../../starter/document/document.ts'
import { plainText } from '../../../starter/document/text.ts'
import { nodeClaims } from '../../../starter/picture/from-cluster.ts'
import { temporalMissing, temporalStatus } from '../../../starter/picture/from-temporal.ts'
import { gapLines } from '../../../starter/picture/gaps.ts'
import { joinersClient } from '../../../starter/picture/joiners-client.ts'
import { readLifecycles } from '../../../starter/picture/lifecycles.ts'
import { readNode } from '../../../starter/picture/node-picture.ts'
import { readPicture } from '../../../starter/picture/picture.ts'
import { readPod } from '../../../starter/picture/pod-picture.ts'
import type { TemporalAccess } from '../../../starter/temporal/connect.ts'
import type { Scene } from '../scene.ts'

/** All that a command prints. */
export interface Said {
  readonly text: string
  /** Whether it ends with 0. */
  readonly isWhole: boolean
}

type Client = KubernetesClient

const namespace = 'joiner'

function placeOf({ nowMs, fast }: Scene, client: Client = fast.cluster.client) {
  return { client: joinersClient(client, namespace), namespace, now: nowMs, cluster: clusterName }
}

function accessOf({ world: { temporal: client } }: Scene): TemporalAccess {
  const connection = client.connection as Connection
  return { client, connection, address: '', namespace: client.options.namespace, cluster: clusterName }
}

const said = (lines: readonly string[], json: unknown, document: Document) =>
  [...lines, JSON.stringify(json), plainText(document)].join('\n')

/** `joiner status`. */
export async function statusOf(scene: Scene, client?: Client) {
  const place = placeOf(scene, client)
  const { now } = place
  const known = await readPicture(place, statusParts)
  const again = async () => (await readPicture(place, { claims: statusParts.nodeClaims })).claims
  const access = accessOf(scene)
  const report: StatusReport = await access.connection.ensureConnected().then(
    async () => ({
      cluster: clusterName,
      ...(await readPicture({ access, now }, temporalStatus(known.nodeClaims, again))),
    }),
    (error: Error) => ({ missing: [temporalMissing(error.message)] }),
  )
  const json = statusJson(report, known, now)
  return {
    report,
    known,
    json,
    isWhole: isWell(report, known),
    text: said([], json, statusDocument(report, known, now)),
  }
}
export type StatusAnswer = Awaited<ReturnType<typeof statusOf>>

/** What `joiner node list` and `joiner node NAME` read. `only`: of this name. */
export async function nodeFactsOf(scene: Scene, only?: string, client?: Client) {
  const { nodeClaims: claims, ...gaps } = await readPicture(placeOf(scene, client), { nodeClaims })
  const lifecycles = await readLifecycles(accessOf(scene), only).catch(() => undefined)
  const facts: NodeFacts = defined({ claims, lifecycles })
  return { facts, gaps }
}

/** `joiner node NAME`, by the name of a NodeClaim; `details` is absent where it says that there is none. */
export async function detailsOfNode(scene: Scene, name: string, client?: Client) {
  const { nowMs } = scene
  const { facts, gaps } = await nodeFactsOf(scene, name, client)
  const row = rowNamed(nodeRows(facts, nowMs), name)
  if (row === undefined)
    return { details: undefined, picture: undefined, text: gapLines(gaps).join('\n'), isWhole: false }
  const { picture, lost } = await readNode(name, placeOf(scene, client)).then(
    (found) => ({ picture: found, lost: [] }),
    (error: Error) => ({ picture: undefined, lost: [error.message] }),
  )
  const details = detailsOf(row, facts, defined({ picture, events: picture?.events }))
  const text = said([...gapLines(gaps), ...lost], detailsJson(details), detailsDocument(details, nowMs))
  return { details, picture, text, isWhole: isWhole(details) && lost.length === 0 }
}

/** `joiner why node`; undefined: there is no such node. Errors: as `readNode`. */
export async function whyNode(scene: Scene, name: string, client?: Client) {
  const picture = await readNode(name, placeOf(scene, client))
  if (picture === undefined) return undefined
  const report = nodeReport(picture)
  return { picture, report, text: said([], report, nodeDocument(report, scene.nowMs)), isWhole: true }
}

/** `joiner why pod`; undefined: there is no such pod. Errors: as `readPod`. */
export async function whyPod(scene: Scene, name: string, client?: Client) {
  const picture = await readPod('default', name, placeOf(scene, client))
  if (picture === undefined) return undefined
  const report = podReport(picture)
  return { picture, report, text: said([], report, podDocument(report, scene.nowMs)), isWhole: true }
}

/** What a command says that may end without an answer: why. */
export async function saidOf(answer: Promise<Said | undefined>): Promise<Said> {
  try {
    return (await answer) ?? { text: '', isWhole: true }
  } catch (error) {
    return { text: (error as Error).message, isWhole: false }
  }
}
