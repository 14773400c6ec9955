import { isDeepStrictEqual } from 'node:util'
import { PlanStore } from '../../../activities/disruption/plans/plan-store.ts'
import { parseDisruptionPlan } from '../../../api/disruption-plan.ts'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { CommandError } from '../../document/reported-error.ts'
import { type FileText, type InputFile, inputName, takeText } from '../../files/input-file.ts'
import { unanswered } from '../../picture/missing.ts'
import { withCluster } from '../access/cluster.ts'
import type { ClusterOptions } from '../shared/options.ts'

const longestMessage = 500

/** A plan that the cluster keeps. Errors: `CommandError` when it is not there or the cluster does not answer. */
export async function readPlan(id: string, options: ClusterOptions): Promise<DisruptionPlan> {
  const found = await withStore(options, (store) => store.read(id, Date.now()))
  if (found.kind === 'found') return found.plan
  throw new CommandError(found.message)
}

/** Plans are cut at a tenth of it. */
const mostBytes = 16 * 1024 * 1024

/** The plan that was saved to a file. Errors: `CommandError` when it is none. */
export function planIn(input: InputFile): DisruptionPlan {
  const name = inputName(input.file)
  const taken: FileText =
    input.bytes.byteLength > mostBytes
      ? { kind: 'refused', message: `is larger than ${mostBytes / 1024 / 1024} MiB, as no plan is` }
      : takeText(input)
  const read = taken.kind === 'text' ? parseDisruptionPlan(taken.text) : taken
  if (read.kind === 'ok') return read.plan
  throw new CommandError(`"${name}" is no plan of joiner plan: ${printableStart(read.message, longestMessage)}`)
}

/** Keeps a plan in the cluster, so that it can be applied. Returns its id. Errors: `CommandError` with what the cluster says. */
export async function keepPlan(plan: DisruptionPlan, options: ClusterOptions): Promise<string> {
  return withStore(options, async (store) => {
    const now = Date.now()
    const kept = await store.read(plan.id, now)
    if (kept.kind === 'found' && isDeepStrictEqual(kept.plan, plan)) return plan.id
    return store.keep(plan, now)
  })
}

async function withStore<T>(options: ClusterOptions, work: (store: PlanStore) => Promise<T>): Promise<T> {
  try {
    return await withCluster(options, (client) => work(new PlanStore(client, options.joinerNamespace)))
  } catch (error) {
    throw new CommandError(
      `plans are kept in ConfigMaps of the cluster, which cannot be read or written: ${unanswered(error)}`,
    )
  }
}
