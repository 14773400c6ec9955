import type { Command } from 'commander'
import { registerAdopt } from './adopt/command.ts'
import { registerAdvise } from './advise/command.ts'
import { registerAks } from './aks/command.ts'
import { registerBudgets } from './budgets/command.ts'
import { registerCapacity } from './capacity/command.ts'
import { registerCost } from './cost/command.ts'
import { registerCrds } from './crds/command.ts'
import { registerDoctor } from './doctor/command.ts'
import { registerHistory } from './history/command.ts'
import { registerNode } from './node/command.ts'
import { registerApply } from './operate/apply-command.ts'
import { registerConsolidate } from './operate/consolidate-command.ts'
import { registerPause } from './operate/pause-command.ts'
import { registerPlan } from './operate/plan-command.ts'
import { registerQuarantine } from './quarantine/command.ts'
import { registerQuota } from './quota/command.ts'
import { registerReport } from './report/command.ts'
import { registerStatus } from './status/command.ts'
import { registerTakeover } from './takeover/command.ts'
import { registerTop } from './top/command.ts'
import { registerUi } from './ui/command.ts'
import { registerUninstall } from './uninstall/command.ts'
import { registerWhy } from './why/command.ts'

/** Adds the commands that talk to a cluster, by what a person wants of them. */
export function registerClusterCommands(program: Command): void {
  program.commandsGroup('See and explain:')
  registerStatus(program)
  registerTop(program)
  registerUi(program)
  registerNode(program)
  registerHistory(program)
  registerWhy(program)
  registerCost(program)
  registerBudgets(program)
  registerQuota(program)
  registerCapacity(program)
  registerQuarantine(program)
  registerReport(program)
  registerAdvise(program)
  program.commandsGroup('Disruption and pauses:')
  registerPause(program)
  registerPlan(program)
  registerApply(program)
  registerConsolidate(program)
  program.commandsGroup('Install and mend:')
  registerAks(program)
  registerDoctor(program)
  registerAdopt(program)
  registerTakeover(program)
  registerCrds(program)
  registerUninstall(program)
}
