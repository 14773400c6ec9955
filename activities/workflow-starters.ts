import type { Client } from '@temporalio/client'
import { AttributedStarts } from './attributed-starts.ts'
import { CommandStarter } from './disruption/command-starter.ts'
import { Committer } from './disruption/commit/committer.ts'
import { LifecycleStarter } from './provisioning/lifecycle-starter.ts'

/** What starts a process's workflows, and what commits for them. `now`: epoch ms. */
export function workflowStarters(client: Client, cluster: string, now: () => number) {
  const starts = new AttributedStarts(now)
  return {
    starts,
    lifecycles: new LifecycleStarter(client, cluster, starts),
    commands: new CommandStarter({ client, cluster, starts, now }),
    committer: new Committer(),
  }
}
