import type { History } from '../../../core/history/life.ts'
import { defined } from '../../../core/values/defined.ts'
import { type NodeReport, nodeReport } from '../../answers/node-report.ts'
import { section } from '../../document/document.ts'
import { type Answer, note, print } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { ago } from '../../document/words.ts'
import { missingLines } from '../../picture/gaps.ts'
import { historyOf } from '../../picture/history.ts'
import { unanswered } from '../../picture/missing.ts'
import { noteGaps } from '../../picture/picture.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'
import { explained } from '../shared/explained.ts'
import type { OutputFormat } from '../shared/options.ts'
import {
  commandJson,
  coverageJson,
  coverageNotes,
  lifeJson,
  lifeRows,
  livesCsv,
  livesTable,
  nodeParts,
  ofNode,
  ofPool,
  poolRows,
  poolsCsv,
  poolsTable,
  timelineCsv,
  timelineJson,
} from './text.ts'
import {
  type Placements,
  readPlacements,
  workloadCsv,
  workloadJson,
  workloadNamed,
  workloadNodes,
  workloadNote,
  workloadTable,
} from './workload.ts'

/** Prints all nodes, or the timeline of one. Returns the exit code. */
export function nodeHistory(name: string | undefined, options: HistoryOptions): Promise<number> {
  return answered(options, async (history) => {
    if (name === undefined) return livesAnswer(history)
    const own = ofNode(history, name)
    if (own.lives.length === 0) return missing(`Node or NodeClaim "${name}"`, history)
    const rows = lifeRows(own)
    const isThere = own.lives.some(({ isRunning }) => isRunning)
    const picture = isThere ? await explained(name, options, history.untilMs) : undefined
    noteGaps({ missing: picture?.missing ?? [], damaged: [] })
    const { headline, remedies = [] }: Partial<NodeReport> = picture === undefined ? {} : nodeReport(picture)
    return {
      json: {
        ...coverageJson(own),
        lives: rows.map((row) => timelineJson(row, own.commands)),
        ...defined({ headline, remedies: headline && remedies }),
      },
      csv: () => timelineCsv(rows, own.commands),
      document: () => [
        ...rows.flatMap((row) => nodeParts(row, own.commands)),
        [section('now', [headline]), section('what would let it go', remedies)],
      ],
    }
  })
}

/** Prints all NodePools, or the nodes of one. Returns the exit code. */
export function poolHistory(name: string | undefined, options: HistoryOptions): Promise<number> {
  return answered(options, (history) => {
    if (name !== undefined) {
      const own = ofPool(history, name)
      return own.lives.length === 0 ? missing(`node of NodePool "${name}"`, history) : livesAnswer(own)
    }
    const rows = poolRows(history)
    return {
      json: { ...coverageJson(history), nodePools: rows },
      csv: () => poolsCsv(rows),
      document: () => [[rows.length === 0 ? nothing(history) : poolsTable(rows)]],
    }
  })
}

/** Prints the nodes that pods of a workload are and were on, as far as that is known. Returns the exit code. */
export async function workloadHistory(text: string, options: HistoryOptions): Promise<number> {
  const workload = workloadNamed(text)
  if (workload === undefined) {
    note(`"${text}" names no workload: give NAMESPACE/NAME, or NAMESPACE/KIND/NAME such as shop/Deployment/web`)
    return 2
  }
  let found: Placements
  try {
    found = await readPlacements(options, workload)
  } catch (error) {
    note(error instanceof CommandError ? error.message : unanswered(error))
    return 1
  }
  const { placements, missing: unread } = found
  note(...missingLines(unread).map((line) => `pods that are gone are not known: ${line}`))
  return answered(options, (history) => {
    if (placements.length === 0 && unread.length > 0) return `no pod of ${text} has a node now`
    if (placements.length === 0)
      return `no pod of ${text} has a node, and no event of the last hour names one; kubectl get pods --namespace ${workload.namespace}`
    note(workloadNote)
    const nodes = workloadNodes(placements, history)
    return {
      json: { ...coverageJson(history), workload, nodes: nodes.map(workloadJson) },
      csv: () => workloadCsv(nodes),
      document: () => [[workloadTable(nodes)]],
    }
  })
}

function livesAnswer(history: History): Answer {
  const rows = lifeRows(history)
  return {
    json: { ...coverageJson(history), lives: rows.map(lifeJson), commands: history.commands.map(commandJson) },
    csv: () => livesCsv(rows),
    document: () => [[rows.length === 0 ? nothing(history) : livesTable(rows, history.untilMs)]],
  }
}

const spanOf = ({ sinceMs, untilMs }: History) => `within the last ${ago(untilMs - sinceMs)}`

const nothing = (history: History) => `no nodes ${spanOf(history)}`

function missing(what: string, history: History): string {
  return `no ${what} is known ${spanOf(history)}; joiner history lists all, --since goes further back`
}

async function answered(
  { output, since, ...where }: HistoryOptions,
  answer: (history: History) => Answer | string | Promise<Answer | string>,
): Promise<number> {
  return withTemporal(where, async (access) => {
    const history = await historyOf(access, { sinceMs: since, nowMs: Date.now() })
    note(...coverageNotes(history, since))
    const found = await answer(history)
    if (typeof found === 'string') {
      note(found)
      return 2
    }
    await print(output, found)
    return 0
  })
}

export interface HistoryOptions extends TemporalOptions {
  /** Epoch ms. */
  readonly since: number
  readonly output: OutputFormat | 'csv'
}
