import type { Logger } from 'pino'
import { pauseOf } from '../activities/abortable-wait.ts'
import type { KubernetesClient } from '../activities/kubernetes/client/client.ts'
import {
  claimInstallation,
  installationProblem,
  ownInstallation,
  readOwnership,
} from '../activities/kubernetes/client/installation.ts'
import type { Installation } from '../core/installation.ts'
import type { Readiness } from './readiness.ts'

/** What a process waits for until the CRDs are its installation's, as `/readyz` names it. */
export const installed = 'the CRDs'

/** How often a process looks again whether another installation or another cluster has made room. */
const foreignMs = 30_000
const retryMs = 2000
/** A problem that stays is logged again after so many looks. */
const looksPerLog = 60

/** One answer to "may this process work?": a value, or why not. `isForeign`: somebody else has what it needs, so it looks again rarely. */
export type Answer<T> =
  | { readonly kind: 'yes'; readonly value: T }
  | { readonly kind: 'no'; readonly problem: string; readonly isForeign: boolean }

export interface AskInput<T> {
  /** May throw: then it is asked again. */
  readonly ask: () => Promise<Answer<T>>
  /** What a failure keeps from being done, as in "... failed". */
  readonly what: string
  /** An error in words. */
  readonly explain?: (error: unknown) => Promise<string>
  readonly onProblem: (problem: string) => void
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Asks until the answer is yes. Each problem is logged once, and again now and then. Undefined: the process is to end. */
export async function untilYes<T>({ ask, what, explain, onProblem, log, signal }: AskInput<T>): Promise<T | undefined> {
  let reported = ''
  for (let look = 0; !signal.aborted; look++) {
    let waitMs = retryMs
    let problem: string
    try {
      const answer = await ask()
      if (answer.kind === 'yes') return answer.value
      problem = answer.problem
      if (answer.isForeign) waitMs = foreignMs
    } catch (error) {
      problem = `${what} failed: ${explain === undefined ? String(error) : await explain(error)}`
    }
    onProblem(problem)
    if (problem !== reported || look % looksPerLog === 0) log.warn(`${problem}; trying again`)
    reported = problem
    await pauseOf(waitMs, signal)
  }
  return undefined
}

export interface OwnershipInput {
  readonly kubernetes: KubernetesClient
  readonly release: string
  readonly namespace: string
  /** Whether this process writes the marker where there is none. */
  readonly mayClaim: boolean
  readonly log: Logger
}

/** Whether the CRDs are this installation's (docs/adr/0018-temporal-is-a-trust-boundary.md). Errors: what the API server says. */
async function askOwnership(input: OwnershipInput): Promise<Answer<Installation>> {
  const { kubernetes, release, namespace, mayClaim, log } = input
  const own = await ownInstallation(kubernetes, release, namespace)
  const found = mayClaim ? await claimInstallation(kubernetes, own, log) : await readOwnership(kubernetes, own)
  const problem = installationProblem(found, own)
  return problem === undefined
    ? { kind: 'yes', value: own }
    : { kind: 'no', problem, isForeign: found.kind === 'foreign' }
}

/**
 * The same of an installation that works, which claims nothing: a marker that somebody took off (joiner admin crds release, as `helm uninstall` does while
 * Joiner still runs) would stay when it is gone, and keep the next installation out. The conversion restores one that an upgrade took off. Errors: likewise.
 */
export function askStillOwned(input: OwnershipInput): Promise<Answer<Installation>> {
  return askOwnership({ ...input, mayClaim: false })
}

/** Waits until the CRDs are this installation's. Undefined: the process is to end. */
export async function untilOwned({
  ownership,
  readiness,
  log,
  signal,
}: {
  readonly ownership: OwnershipInput
  readonly readiness: Readiness
  readonly log: Logger
  readonly signal: AbortSignal
}): Promise<Installation | undefined> {
  const own = await untilYes({
    ask: () => askOwnership(ownership),
    what: 'the look at whose the CRDs are',
    onProblem: (problem) => readiness.lacks(installed, problem),
    log,
    signal,
  })
  if (own !== undefined) readiness.has(installed)
  return own
}

export interface WatchInput {
  readonly everyMs: number
  /** Looks again; what throws is no answer. */
  readonly checks: readonly (() => Promise<Answer<unknown>>)[]
  /** Called once, when something that this process worked with is somebody else's now. */
  readonly onLost: (problem: string) => void
  readonly log: Logger
}

/** Looks again and again whether cluster and name still are this process's. Returns what ends that. */
export function watchIdentity({ everyMs, checks, onLost, log }: WatchInput): () => void {
  const look = async () => {
    for (const check of checks) {
      const answer = await check()
      if (answer.kind === 'yes' || !answer.isForeign) continue
      clearInterval(timer)
      onLost(answer.problem)
      return
    }
  }
  const timer = setInterval(() => {
    look().catch((error: unknown) => log.debug({ err: error }, 'failed to check installation identity, retrying'))
  }, everyMs)
  return () => clearInterval(timer)
}
