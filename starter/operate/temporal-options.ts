import { type Command, Option } from 'commander'
import { ToldError } from '../told-error.ts'

/** How a command finds Joiner in Temporal: the settings of the worker, which flags override. */
export interface TemporalOptions {
  readonly temporalAddress?: string
  readonly temporalNamespace: string
  readonly cluster?: string
}

/** Why a command cannot go on, and what to do: printed as it stands. */
export class CommandError extends ToldError {}

/** Adds the options that every command has which talks to Joiner's workflows. */
export function temporalOptions(command: Command): Command {
  return command
    .addOption(new Option('--temporal-address <host:port>', "Temporal's frontend").env('TEMPORAL_ADDRESS'))
    .addOption(
      new Option('--temporal-namespace <name>', 'the namespace that Joiner uses there')
        .env('TEMPORAL_NAMESPACE')
        .default('default'),
    )
    .addOption(
      new Option('--cluster <name>', 'the cluster as Joiner knows it; not needed where Temporal knows one only').env(
        'CLUSTER_NAME',
      ),
    )
}

/** Text for --help on where such a command can be run. */
export const whereToRun = `In the cluster: kubectl exec --namespace joiner deployment/joiner-planner -- node starter/joiner.ts ...
From elsewhere: make Temporal's frontend reachable, such as by kubectl port-forward --namespace temporal service/temporal-frontend 7233, then
give --temporal-address 127.0.0.1:7233.`
