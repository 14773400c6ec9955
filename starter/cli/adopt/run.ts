import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client'
import type { WithheldMachine, WithheldMachines } from '../../../api/withheld-machines.ts'
import type { AdoptionOutcome, AskedAdoption } from '../../../core/adoption.ts'
import { machineNameOf } from '../../../core/node-claim/aks-machine.ts'
import { nodeNamePrefix } from '../../../core/node-claim/node-names.ts'
import { maintenanceScheduleId, taskQueue } from '../../../core/task-queues.ts'
import type { maintenance } from '../../../workflows/index.ts'
import { type Table, tableOf } from '../../document/document.ts'
import { note, say, show } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { counted, few, usd } from '../../document/words.ts'
import { withheld } from '../../picture/kept.ts'
import { needed } from '../../picture/picture.ts'
import { type TemporalAccess } from '../../temporal/connect.ts'
import { exitCodeOf, pictureOf } from '../access/cluster.ts'
import { withTemporal } from '../operate/temporal-access.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'
import { isWanted } from '../shared/confirm.ts'

export interface AdoptOptions extends TemporalOptions {
  readonly delete?: true
  readonly dryRun?: true
  readonly yes?: true
}

/** Shows what becomes of VMs without NodeClaims, and has it done once that is confirmed. Returns the exit code. */
export function adopt(names: readonly string[], options: AdoptOptions): Promise<number> {
  return exitCodeOf(async () => {
    const found = await stored(options)
    const chosen = chosenOf(found, names)
    if (chosen.length === 0) {
      say(`no VM is known to run pods without a NodeClaim${asOf(found)}`)
      return 0
    }
    await show([[planTable(chosen, options.delete === true), found.doubt]])
    const able = chosen.filter(({ plan }) => plan === 'adopt' || plan === 'drain')
    const left = able.length < chosen.length && names.length > 0
    if (options.dryRun === true || able.length === 0) return left ? 1 : 0
    const question = `${options.delete === true ? 'Drain and end' : 'Adopt'} ${counted(able.length, 'VM')}?`
    if (!(await isWanted(question, options.yes))) return 1
    const asked = { names: able.map(({ name }) => name), ...(options.delete === true ? { end: true as const } : {}) }
    return withTemporal(options, async (access) => (areDone(await ask(access, asked), asked) ? Number(left) : 1))
  })
}

async function stored(options: AdoptOptions): Promise<WithheldMachines> {
  const picture = await pictureOf(options, { withheld }, Date.now())
  const [fault] = picture.damaged
  if (fault !== undefined) throw new CommandError(fault)
  return needed(picture, { withheld }).withheld
}

const asOf = ({ atMs }: WithheldMachines) => (atMs === undefined ? '' : `, as of ${new Date(atMs).toISOString()}`)

/** Returns the machines of these names, or all. Errors: a name that is no VM's without a NodeClaim. */
function chosenOf(found: WithheldMachines, names: readonly string[]): readonly WithheldMachine[] {
  const named = ({ name, node }: WithheldMachine) => [name, node, name.replace(nodeNamePrefix, '')]
  const unknown = names.filter((name) => !found.machines.some((machine) => named(machine).includes(name)))
  if (unknown.length > 0)
    throw new CommandError(
      `${few(unknown, 5)}: not known as VMs that run pods without a NodeClaim${asOf(found)}; joiner admin adopt --dry-run lists them, and a lost NodeClaim is found within ten minutes`,
    )
  return names.length === 0
    ? found.machines
    : found.machines.filter((machine) => named(machine).some((name) => names.includes(name)))
}

function planTable(machines: readonly WithheldMachine[], isToEnd: boolean): Table {
  const shown = tableOf(machines, [
    ['VM', ({ name }) => name],
    ['NODE', ({ node }) => node],
    ['NODEPOOL', ({ nodePool }) => nodePool],
    ['SIZE', ({ instanceType }) => instanceType],
    ['USD/DAY', ({ costPerDay }) => (costPerDay === undefined ? undefined : usd(costPerDay))],
    ['PODS', ({ pods }) => pods],
    ['PLAN', (machine) => doneText(machine, isToEnd)],
  ])
  return { ...shown, drop: ['NODEPOOL', 'SIZE'] }
}

const plansOfKind = {
  VM: 'nothing is known of it yet',
  'AKS machine': 'AKS machines get a NodeClaim again only where Joiner makes such machines (azure.provisionMode)',
  Node: 'Nodes get no NodeClaim again',
} as const satisfies Readonly<Record<WithheldMachine['kind'], string>>

function doneText({ kind, plan, why, remedy, differs }: WithheldMachine, isToEnd: boolean): string {
  if (plan === undefined) return `stays: ${plansOfKind[kind]}`
  if (plan === 'left') return `stays: ${why}; ${remedy}`
  const ends = isToEnd || plan === 'drain' ? ', drain, end' : ''
  return `adopt${ends}${differs === undefined ? '' : `; ${differs}`}`
}

/** How long the count of pods, a pass of garbage collection and the creation of NodeClaims may take. */
const limitMs = 300_000

/** Has maintenance look again and adopt what it finds of these. Errors: one is under way already; nobody works on it. */
async function ask(
  { client, connection, cluster }: TemporalAccess,
  asked: AskedAdoption,
): Promise<readonly AdoptionOutcome[]> {
  const workflowId = `${maintenanceScheduleId(cluster)}-adopt`
  try {
    const started = await client.workflow.start<typeof maintenance>('maintenance', {
      workflowId,
      taskQueue: taskQueue('core', cluster),
      args: [asked],
      workflowExecutionTimeout: limitMs,
    })
    const report = await connection.withDeadline(Date.now() + limitMs, () => started.result())
    note(...report.failed)
    return report.adopted ?? []
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error
    throw new CommandError(`another joiner admin adopt is under way (workflow ${workflowId}); wait for its end`)
  }
}

/** Prints what came of it. Returns whether all that was asked for is done, or is done once budgets allow. */
function areDone(outcomes: readonly AdoptionOutcome[], { names = [], end }: AskedAdoption): boolean {
  const texts = { adopted: end === true ? 'is drained and ends' : 'is adopted', waiting: 'waits', left: 'stays' }
  for (const { claimName, kind, why } of outcomes)
    say(`NodeClaim ${claimName}: its VM ${texts[kind]}${why === undefined ? '' : `: ${why}`}`)
  const told = new Set(outcomes.flatMap(({ claimName }) => [`${nodeNamePrefix}${claimName}`, machineNameOf(claimName)]))
  const untold = names.filter((name) => !told.has(name.slice(name.indexOf('/') + 1)))
  if (untold.length > 0)
    console.error(
      `${few(untold, 5)}: not adopted now: it has its NodeClaim again, runs no pods any more, or was not looked at; joiner admin adopt --dry-run says which`,
    )
  return untold.length === 0 && outcomes.every(({ kind }) => kind !== 'left')
}
