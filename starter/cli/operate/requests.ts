// What `plan`, `apply` and `consolidate` ask the disruption loop for.
import { writeFile } from 'node:fs/promises'
import type { DisruptionPlan } from '../../../core/disruption/plan/plan.ts'
import { isPlanId } from '../../../core/disruption/plan/plan-requests.ts'
import { applyUpdate, consolidateUpdate, planUpdate } from '../../../workflows/messages.ts'
import { print } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { type InputFile, inputName } from '../../files/input-file.ts'
import { readInput } from '../shared/input.ts'
import { askDisruption } from './ask-loop.ts'
import { clusterFacts } from './operator.ts'
import { keepPlan, planIn, readPlan } from './plan-files.ts'
import { planDocument, planJson } from './plan-text.ts'
import { carryOut } from './request-answer.ts'
import { asked, type RequestOptions } from './request-options.ts'
import { withTemporal } from './temporal-access.ts'

export interface PlanOptions extends RequestOptions {
  readonly outputFile?: string
  readonly all?: true
}

/** Of a request whose commands are followed to their end. */
export interface FollowOptions extends RequestOptions {
  readonly wait: boolean
}

export interface ApplyOptions extends FollowOptions {
  readonly partial?: true
}

/** A pass over a large cluster takes seconds; beyond, something is broken. */
export const planMs = 150_000
/** The check takes as long as a pass; each commit reads and writes a few objects. */
export const applyMs = 300_000
const consolidateMs = 300_000

/** Asks for a plan and prints it. Returns the exit code. */
export function plan(options: PlanOptions): Promise<number> {
  return withTemporal(options, async (access) => {
    const request = { ...asked(options), by: await asker(options) }
    const { id } = await askDisruption(access, { update: planUpdate, request, limitMs: planMs })
    const found = await readPlan(id, options)
    if (options.outputFile !== undefined) await save(found, options.outputFile)
    await show(found, options)
    return 0
  })
}

/** Has a plan carried out: one that the cluster keeps, or one from a file. Returns the exit code. */
export async function apply(named: string, options: ApplyOptions): Promise<number> {
  const saved = isPlanId(named) ? undefined : planIn(await readPlanFile(named))
  return withTemporal(options, async (access) => {
    const id = saved === undefined ? named : options.dryRun === true ? saved.id : await keepPlan(saved, options)
    const request = { id, by: await asker(options), ...(options.partial === true ? { partial: true } : {}) }
    const answer = await askDisruption(access, { update: applyUpdate, request, limitMs: applyMs })
    return carryOut(access, answer, { ...options, nothing: 'nothing was begun' })
  })
}

/** Has one pass made and carried out. Returns the exit code. */
export function consolidate({ dryRun, ...options }: FollowOptions): Promise<number> {
  if (dryRun === true) return plan({ ...options, ignoreConsolidateAfter: true })
  const nothing = 'nothing to do now; joiner plan --ignore-consolidate-after says of each node why it stays'
  return withTemporal(options, async (access) => {
    const request = { ...asked(options), by: await asker(options) }
    const answer = await askDisruption(access, { update: consolidateUpdate, request, limitMs: consolidateMs })
    return carryOut(access, answer, { ...options, nothing })
  })
}

async function asker(options: RequestOptions): Promise<string> {
  return options.by ?? (await clusterFacts(options, { loop: 'disruption' })).by
}

async function save(found: DisruptionPlan, file: string): Promise<void> {
  try {
    await writeFile(file, `${JSON.stringify(planJson(found), null, 2)}\n`)
  } catch (error) {
    throw new CommandError(
      `plan ${found.id} is made but could not be saved: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

async function show(found: DisruptionPlan, { output, all, outputFile: file }: PlanOptions): Promise<void> {
  const hint = found.commands.length > 0 ? `To do exactly that: joiner apply ${file ?? found.id}` : undefined
  await print(output, { json: planJson(found), document: () => [...planDocument(found, all === true), [hint]] })
}

async function readPlanFile(file: string): Promise<InputFile> {
  const input = await readInput(file)
  if ('bytes' in input) return input
  throw new CommandError(
    `"${inputName(file)}" is neither the id of a plan (eight hexadecimal digits) nor a file that can be read: ${input.message}`,
  )
}
