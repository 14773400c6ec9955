import { defined } from '../../../core/values/defined.ts'
import { isForPrograms, note, print } from '../../document/print.ts'
import { eventsOfClaim } from '../../picture/events.ts'
import { nodeClaims } from '../../picture/from-cluster.ts'
import { unanswered } from '../../picture/missing.ts'
import { type NodePicture, readNode } from '../../picture/node-picture.ts'
import { noteGaps, pictureOf } from '../../picture/picture.ts'
import { withCluster } from '../access/cluster.ts'
import { askLoop } from '../operate/ask-loop.ts'
import { clusterFacts } from '../operate/operator.ts'
import { type TemporalAccess, withTemporal } from '../operate/temporal-access.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'
import { CommandError } from '../shared/command-error.ts'
import type { OutputFormat } from '../shared/options.ts'
import { nodeReport } from '../why/node-report.ts'
import { askNode, findLifecycle, type NodeAsking } from './ask-node.ts'
import { readLifecycles } from './read.ts'
import { type LifecycleFacts, type NodeFacts, nodeRows, rowNamed } from './report.ts'
import { detailsDocument, detailsJson, listTable, rowJson } from './table.ts'

interface Shown extends TemporalOptions {
  readonly output: OutputFormat
}

/** Prints all nodes. Returns the exit code. */
export async function listNodes(options: Shown & { readonly nodepool?: string }): Promise<number> {
  const facts = await readBoth(options)
  const now = Date.now()
  const { nodepool } = options
  const rows = nodeRows(facts, now).filter(({ nodePool }) => nodepool === undefined || nodePool === nodepool)
  if (facts.claims === undefined && facts.lifecycles === undefined) return 1
  await print(options.output, { json: rows.map(rowJson), document: () => [[listTable(rows, now)]] })
  const isWhole = facts.claims !== undefined && facts.lifecycles?.every(({ status }) => status !== 'silent') === true
  return isWhole ? 0 : 1
}

/** Prints one node in full. Returns the exit code. */
export async function showNode(name: string, options: Shown): Promise<number> {
  const facts = await readBoth(options, name)
  const now = Date.now()
  // Other claims are not without a lifecycle: only those of this name were looked for.
  const row = rowNamed(nodeRows(facts, now), name)
  if (row === undefined) {
    const isKnown = facts.claims !== undefined && facts.lifecycles !== undefined
    console.error(`there is no Node and no NodeClaim "${name}"; joiner node list`)
    return isKnown ? 2 : 1
  }
  const claim = facts.claims?.find(({ metadata }) => metadata.uid === row.uid)
  const lifecycle = facts.lifecycles?.find(({ workflowId }) => workflowId === row.workflowId)
  const picture = await explained(row.nodeClaim, options, now)
  const ofClaim = { events: eventsOfClaim({ name: row.nodeClaim, uid: row.uid }) }
  const events = picture?.events ?? (await pictureOf(options, ofClaim, now)).events
  const report = picture && nodeReport(picture)
  const details = { row, ...defined({ claim, lifecycle, report, events }) }
  await print(options.output, { json: detailsJson(details), document: () => detailsDocument(details, now) })
  // Joiner's own identity, with which the command runs in the pod, may write events and not read them.
  const isWhole = claim !== undefined && lifecycle !== undefined && lifecycle.status !== 'silent'
  return isWhole ? 0 : 1
}

/** What is known of a node; undefined: its NodeClaim is gone, or the cause cannot be read, which is reported. */
async function explained(name: string, options: TemporalOptions, now: number): Promise<NodePicture | undefined> {
  const { joinerNamespace: namespace, clusterName: cluster } = options
  try {
    return await withCluster(options, (client) => readNode(name, { client, namespace, now, ...defined({ cluster }) }))
  } catch (error) {
    note(`the cause is not known: ${error instanceof CommandError ? error.message : unanswered(error)}`)
    return undefined
  }
}

/** What Temporal and the cluster tell, side by side; what does not answer is reported and left out. */
async function readBoth(options: TemporalOptions, only?: string): Promise<NodeFacts> {
  let lifecycles: readonly LifecycleFacts[] | undefined
  const [{ nodeClaims: claims, ...gaps }] = await Promise.all([
    pictureOf(options, { nodeClaims }, Date.now()),
    withTemporal(options, async (access) => {
      lifecycles = await readLifecycles(access, only)
      return 0
    }),
  ])
  if (lifecycles === undefined) console.error('note: without Temporal, phases come from the conditions of NodeClaims')
  noteGaps(gaps)
  if (claims === undefined) console.error('note: without NodeClaims, holds and conditions are missing')
  return { ...(claims && { claims }), ...(lifecycles && { lifecycles }) }
}

/** A pause of one node, as Temporal and older versions take it, holds it as well: it has the same end. */
async function endPauses(access: TemporalAccess, { name, nodeName }: LifecycleFacts, by: string): Promise<void> {
  for (const node of [name, ...(nodeName === undefined ? [] : [nodeName])]) {
    try {
      const asked = await askLoop(access, 'disruption', { what: 'resume', request: { by, scope: { node } } })
      if (asked.kind === 'done' && asked.answer.before.length > 0) note(asked.answer.message)
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      note(`whether a pause holds ${node} is not known: ${error.message}`)
    }
  }
}

/** Asks the lifecycle of one node for something and prints what came of it. Returns the exit code. */
export async function askOne(
  name: string,
  options: Shown & { readonly by?: string },
  asking: NodeAsking,
): Promise<number> {
  return withTemporal(options, async (access) => {
    process.once('SIGINT', () => {
      console.error('interrupted; what was asked may be carried out all the same: joiner node show says')
      process.exit(130)
    })
    const lifecycle = await findLifecycle(access, name)
    const by = options.by ?? (await clusterFacts(options, { loop: 'disruption' })).by
    const answer = await askNode(access, lifecycle, { ...asking, request: { ...asking.request, by } } as NodeAsking)
    if (isForPrograms(options.output) || answer.kind === 'done')
      await print(options.output, {
        json: { nodeClaim: lifecycle.name, ...answer },
        document: () => [[answer.message]],
      })
    else note(answer.message)
    if (asking.what === 'release') await endPauses(access, lifecycle, by)
    return answer.kind === 'done' ? 0 : 1
  })
}
