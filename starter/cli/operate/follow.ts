import { disruptionCommandId } from '../../../core/task-queues.ts'
import type { CommandResult } from '../../../workflows/disruption-command.ts'
import { commandStatusQuery, type StartedCommand } from '../../../workflows/messages.ts'
import type { TemporalAccess } from './temporal-access.ts'

const lookEveryMs = 1000
const requestMs = 5000

/** How a command ended. `failed`: its workflow did, or was stopped by somebody. */
export interface Ended {
  readonly id: string
  readonly outcome: CommandResult['outcome'] | 'failed'
  readonly message: string
}

/**
 * Looks at commands until all have ended. `say` hears of each step. Ctrl-C ends the looking, not the commands. Errors: Temporal does not
 * answer any more.
 */
export async function follow(
  access: TemporalAccess,
  started: readonly StartedCommand[],
  say: (line: string) => void,
): Promise<readonly Ended[]> {
  const stop = () => {
    say('interrupted: the commands go on by themselves; joiner status shows them')
    process.exit(130)
  }
  process.once('SIGINT', stop)
  try {
    return await Promise.all(started.map(({ id }) => followOne(access, id, (line) => say(`${id}: ${line}`))))
  } finally {
    process.off('SIGINT', stop)
  }
}

async function followOne(
  { client, connection, cluster }: TemporalAccess,
  id: string,
  say: (line: string) => void,
): Promise<Ended> {
  const handle = client.workflow.getHandle(disruptionCommandId(cluster, id))
  const limited = <T>(work: () => Promise<T>) => connection.withDeadline(Date.now() + requestMs, work)
  let last = ''
  for (;;) {
    const { status } = await limited(() => handle.describe())
    if (status.name === 'COMPLETED') {
      const { outcome, why } = (await limited(() => handle.result())) as CommandResult
      say(`${outcome}: ${why}`)
      return { id, outcome, message: why }
    }
    if (status.name !== 'RUNNING') {
      const message = `its workflow is ${status.name.toLowerCase()}; what it has done is taken back by the next evaluation`
      say(message)
      return { id, outcome: 'failed', message }
    }
    const doing = await limited(() => handle.query(commandStatusQuery)).then(
      (answer) => answer.doing,
      () => last,
    )
    if (doing !== last) say(doing)
    last = doing
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
}
