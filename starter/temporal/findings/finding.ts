// What is not as it should be in Temporal: the bridge's leader repairs it, counts it and logs it; `joiner doctor` and `joiner status` show it.
import type { Client } from '@temporalio/client'
import { isDenied } from '../grpc-code.ts'
import { messageOf } from '../problem.ts'

/** What can be wrong, as the label of a metric: these texts are public. */
export const faults = [
  'lifecycle missing',
  'lifecycle without NodeClaim',
  'of another form',
  'loop not running',
  'schedule missing',
  'schedule paused',
  'schedule late',
  'workflow task fails',
  'search attribute missing',
  'search attribute of another type',
  'cannot be read',
  'not allowed',
  'server too old',
] as const
export type Fault = (typeof faults)[number]

/** What the bridge's leader does about a finding. */
export type Repair =
  /** Starts the lifecycle of a NodeClaim. */
  | { readonly kind: 'start'; readonly nodeClaim: string }
  /** Has a lifecycle look at its NodeClaim, which is gone. */
  | { readonly kind: 'poke'; readonly workflowId: string }
  /** Makes what a cluster has once: loops, the Schedule, search attributes. */
  | { readonly kind: 'bootstrap' }
  /** Ends a run, and starts its workflow again. `why`: in words that go on after "Joiner". */
  | { readonly kind: 'restart'; readonly workflowId: string; readonly runId: string; readonly why: string }

/** Something in Temporal that is not as Joiner needs it. */
export interface Finding {
  /** Kind and name, as somebody looks it up. */
  readonly object: string
  readonly fault: Fault
  /** What else is known of the fault. */
  readonly detail?: string
  /** What a person does about it, where Joiner does not. */
  readonly remedy: string
  /** Unset: Joiner does not repair it. */
  readonly repair?: Repair
}

/** What looks look at. Requests that read cost no Actions on Temporal Cloud. */
export interface LookContext {
  readonly client: Client
  readonly cluster: string
  /** Epoch ms. */
  readonly now: () => number
}

/** One look: it reads, and changes nothing. Errors: what Temporal says. */
export interface Look {
  /** What it looks at, for when it cannot. */
  readonly what: string
  readonly run: () => Promise<readonly Finding[]>
}

/** Returns what a look finds; that it failed is a finding too, so that it keeps no other from its end. */
export async function findingsOf({ what, run }: Look): Promise<readonly Finding[]> {
  try {
    return await run()
  } catch (error) {
    return [unreadable(what, error)]
  }
}

/** Returns the finding that Temporal does not say how something is. */
export function unreadable(what: string, error: unknown): Finding {
  return isDenied(error)
    ? {
        object: what,
        fault: 'not allowed',
        detail: messageOf(error),
        remedy: `give Joiner's identity the role "write" in the namespace, which may read it`,
      }
    : {
        object: what,
        fault: 'cannot be read',
        detail: messageOf(error),
        remedy: 'check that Temporal answers (joiner doctor), its visibility store, and the log of its frontend',
      }
}

/** Keeps one of findings about the same fault of the same object, one with a repair before others: two looks may see it. */
export function merged(findings: readonly Finding[]): readonly Finding[] {
  const found = new Map<string, Finding>()
  for (const finding of findings) {
    const key = `${finding.fault} ${finding.object}`
    if (found.get(key)?.repair === undefined) found.set(key, finding)
  }
  return [...found.values()]
}
