import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { CommandError } from '../../document/reported-error.ts'
import type { TemporalAccess } from '../../temporal/connect.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'

/** What the steps of an uninstallation work with. */
export interface Uninstallation {
  readonly kubernetes: KubernetesClient
  readonly temporal: TemporalAccess
  readonly options: UninstallOptions
  /** Time limit of each wait, in milliseconds. */
  readonly timeoutMs: number
  readonly say: (line: string) => void
}

/** What a step is about to do, in words, and what does it. */
interface Todo {
  readonly text: string
  readonly run: () => Promise<void>
}

/** A step. It finds out by itself what is left to do, so that it can be repeated; undefined: nothing (any more). */
export type Step = () => Promise<Todo | undefined>

const lookEveryMs = 1000
const sayEveryMs = 5000

/** A condition that is waited for. */
export interface Wait {
  /** Returns what is still missing; undefined when nothing is. */
  readonly missing: () => Promise<string | undefined>
  /** What to do when it does not come about. */
  readonly remedy: string
}

/** Waits for a condition and reports what is missing every few seconds. Errors: `CommandError` with what is missing when the time is over. */
export async function waitFor(
  { timeoutMs, say }: Pick<Uninstallation, 'timeoutMs' | 'say'>,
  { missing, remedy }: Wait,
): Promise<void> {
  const deadline = performance.now() + timeoutMs
  let saidAt = Number.NEGATIVE_INFINITY
  for (;;) {
    const left = await missing()
    if (left === undefined) return
    if (performance.now() > deadline)
      throw new CommandError(
        `not within ${Math.round(timeoutMs / 1000)} s: ${left}; ${remedy}. Then run the command again`,
      )
    if (performance.now() - saidAt > sayEveryMs) {
      say(`  waiting: ${left}`)
      saidAt = performance.now()
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
}

/** What becomes of the nodes that Joiner made. */
type NodesMode = 'keep' | 'karpenter' | 'remove'

/** Options of `uninstall`. */
export interface UninstallOptions extends TemporalOptions {
  readonly release: string
  readonly nodes: NodesMode
  readonly timeout: string
  readonly deleteHistory?: true
  readonly dryRun?: true
  readonly yes?: true
}
