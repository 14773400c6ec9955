import type { Command } from 'commander'
import { isScopeName } from '../../../core/pauses/pauses.ts'
import { defined } from '../../../core/values/defined.ts'
import { noReason } from '../../../core/values/texts.ts'
import { askerOptions, dryRunOption, endOf, untilOption } from '../operate/request-options.ts'
import { type TemporalOptions, temporalOptions } from '../operate/temporal-options.ts'
import { confirmed, reasonFor } from '../shared/confirm.ts'
import { type ListFormat, listOptions, type OutputFormat, outputOption, usage, watchOption } from '../shared/options.ts'
import type { NodeAsking } from './run.ts'

interface ReadOptions extends TemporalOptions {
  readonly nodepool?: string
  readonly selector?: string
  readonly output: ListFormat
}

interface AskOptions extends TemporalOptions {
  readonly reason?: string
  readonly by?: string
  readonly output: OutputFormat
}

interface HoldOptions extends AskOptions {
  readonly until?: string
  readonly expiry?: true
}

interface ForceOptions extends AskOptions {
  readonly leaveVm?: true
  readonly yes?: true
}

const exitCodes = 'Exit code: 0 when it is done, 1 when not (or not yet), 2 for options that cannot be read.'
const nameHelp = 'name of the Node or NodeClaim'

/** Adds what `node` takes: where each node is, and what an operator can do about a single one. */
export function registerNode(command: Command): void {
  registerReading(command)
  registerAsking(command)
}

function registerReading(command: Command): void {
  listOptions(temporalOptions(command.command('list', { isDefault: true }).aliases(['ls', 'get'])))
    .description('List NodeClaims with their phase, its start, what they wait for, the last failure, and their hold')
    .argument('[name]', 'name of a Node or NodeClaim, to show it as joiner node show')
    .option('--nodepool <name>', 'limit to nodes of this NodePool')
    .option('-l, --selector <labels>', 'limit to NodeClaims with these labels, as kubectl takes them')
    .addHelpText(
      'after',
      `
Nothing is changed. What waits stands first, the longest wait on top; nodes that are ready and need nothing come last. Phases and waits come from
Temporal, holds and conditions from the cluster (by the kubeconfig); when one of the two does not answer, the other's part is shown, with a note.
Exit code: 0, 1 when something could not be asked, 2 for options that cannot be read.`,
    )
    .action(async (name: string | undefined, options: ReadOptions) => {
      const { listNodes, showNode } = await import('./run.ts')
      process.exitCode = name === undefined ? await listNodes(options) : await showNode(name, options)
    })
  watchOption(outputOption(temporalOptions(command.command('show').alias('describe'))))
    .description('Show one node: what it waits for, retried activities, its cause, remedies, conditions and events')
    .argument('<name>', nameHelp)
    .addHelpText(
      'after',
      `
Examples:
  joiner node show aks-general-7kq2x

Exit code: 0, 1 when something could not be asked, 2 when there is no such node.`,
    )
    .action(async (name: string, options: ReadOptions) => {
      const { showNode } = await import('./run.ts')
      process.exitCode = await showNode(name, options)
    })
}

function registerAsking(command: Command): void {
  asking(command.command('retry'))
    .description('Retry the current step now instead of after its back-off')
    .option('--reason <text>', 'reason to record in the event RetryNow (default: asked for on a terminal)')
    .addHelpText(
      'after',
      `
For a step that failed and would be tried again in a minute only, once its cause is fixed. Nothing is lost: the step finds what it had done.

Examples:
  joiner node retry general-7kq2x

${exitCodes}`,
    )
    .action(async (name: string, options: AskOptions) => {
      if (!isScopeName(name)) return badName(name)
      const reason = await reasonFor('the retry', options.reason)
      return ask(name, options, { what: 'retryNow', request: { ...texts(options), reason } })
    })
  asking(command.command('hold'))
    .description('Exclude a node from disruption for a time, or until it is released')
    .option('--reason <text>', 'reason to show with the hold (default: asked for on a terminal)')
    .addOption(untilOption('end of the hold'))
    .option('--expiry', 'delay expiry (expireAfter) as well')
    .addHelpText(
      'after',
      `
No consolidation and no drift takes the node; a command that has not begun to delete it is taken back. A hold stops neither interruption, nor a
deletion by hand or one that has begun, nor (without --expiry) expiry. It shows in joiner node list, joiner why node, and as DisruptionBlocked.
It stands on the NodeClaim, so without Temporal the same is: kubectl annotate nodeclaim NAME joiner.sh/hold-until=2026-12-01T06:00:00Z

Examples:
  joiner node hold aks-general-7kq2x --until 2h --reason "core dump is being read"

${exitCodes}`,
    )
    .action(hold)
  asking(command.command('release'))
    .description('End a hold')
    .addHelpText('after', `\n${exitCodes}`)
    .action((name: string, options: AskOptions) => ask(name, options, { what: 'release', request: texts(options) }))
  registerForce(command)
}

function registerForce(command: Command): void {
  asking(command.command('force-finish'))
    .description('Finish the deletion of a NodeClaim without waiting for pods, volumes or Azure')
    .option('--reason <text>', 'reason to record in the event ForceFinished (default: asked for on a terminal)')
    .option(
      '--leave-vm',
      'finish although the VM exists: tag it joiner.sh_abandoned and leave it to garbage collection',
    )
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `
A last resort. The finalizers of NodeClaim and Node are removed at once: pods on the node are not evicted first, and volumes may still be attached.
Refused while the NodeClaim is not being deleted (kubectl delete nodeclaim NAME --wait=false lets its pods move first), and while Azure has the VM or
does not tell. With --leave-vm such a VM keeps running, and costing, until garbage collection deletes it; its id is printed.

Examples:
  joiner node force-finish general-7kq2x --reason "Azure refuses the deletion, case 42" --leave-vm

${exitCodes}`,
    )
    .action(forceFinish)
}

/** Adds what every request to one node takes. */
function asking(command: Command): Command {
  return askerOptions(dryRunOption(command.argument('<name>', nameHelp)))
}

const texts = ({ reason, by }: AskOptions) => defined({ reason, by })

async function hold(name: string, options: HoldOptions): Promise<void> {
  const { until, expiry } = options
  if (options.reason?.trim() === '') return refused('--reason: say why, for whoever finds the hold')
  const end = endOf(until, Date.now())
  if (end.kind === 'error') return refused(end.message)
  const request = {
    ...texts(options),
    reason: await reasonFor('the hold', options.reason),
    ...defined({ until: end.value, expiry }),
  }
  return ask(name, options, { what: 'hold', request })
}

async function forceFinish(name: string, options: ForceOptions): Promise<void> {
  const { leaveVm, yes } = options
  if (!isScopeName(name)) return badName(name)
  const reason =
    options.reason === undefined && !process.stdin.isTTY ? '' : await reasonFor('the end by force', options.reason)
  if (reason.trim() === '' || reason === noReason)
    return refused('--reason: state why the lifecycle is ended early; an event records it')
  const vm = leaveVm === true ? ' and leave its VM to garbage collection' : ''
  const question = `End the lifecycle of "${name}" without waiting for its pods and volumes${vm}?`
  const answer = await confirmed(question, yes === true)
  if (answer === 'unasked')
    return refused('--yes: nobody can be asked here; give it to say that the lifecycle is to be ended by force')
  if (answer === 'no') {
    console.error('nothing was done')
    process.exitCode = 1
    return
  }
  const request = { ...texts(options), reason, ...(leaveVm === undefined ? {} : { leaveVm }) }
  return ask(name, options, { what: 'forceFinish', request })
}

async function ask(name: string, options: AskOptions, asking: NodeAsking): Promise<void> {
  if (!isScopeName(name)) return badName(name)
  const { askOne } = await import('./run.ts')
  process.exitCode = await askOne(name, options, asking)
}

function badName(name: string): void {
  refused(`"${name}" is not the name of a Node or NodeClaim`)
}

function refused(message: string): void {
  process.exitCode = usage(message)
}
