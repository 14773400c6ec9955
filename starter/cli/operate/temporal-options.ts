import { type Command, Option } from 'commander'
import { ReportedError } from '../shared/reported-error.ts'

/** How a command finds Joiner in Temporal: the settings of the worker (`starter/temporal/settings.ts`), which flags override. */
export interface TemporalOptions {
  readonly temporalAddress?: string
  readonly temporalNamespace?: string
  readonly cluster?: string
}

/** Why a command cannot go on, and what to do: printed as it stands. */
export class CommandError extends ReportedError {}

/** Adds the options that every command has which talks to Joiner's workflows. */
export function temporalOptions(command: Command): Command {
  return command
    .option('--temporal-address <host:port>', "Temporal's frontend (default: TEMPORAL_ADDRESS, or the profile)")
    .option(
      '--temporal-namespace <name>',
      'the namespace that Joiner uses there (default: TEMPORAL_NAMESPACE, or the profile, or "default")',
    )
    .addOption(
      new Option('--cluster <name>', 'name of the cluster; required only if several use this Temporal namespace').env(
        'CLUSTER_NAME',
      ),
    )
}

/** Text for --help on where such a command can be run. */
export const whereToRun = `In the cluster: kubectl exec --namespace joiner deployment/joiner-planner -- node starter/joiner.ts ...
From elsewhere: make Temporal's frontend reachable, such as by kubectl port-forward --namespace temporal service/temporal-frontend 7233, then
give --temporal-address 127.0.0.1:7233. TLS, API keys and profiles are set by Temporal's own variables: TEMPORAL_TLS_CLIENT_CERT_PATH,
TEMPORAL_API_KEY, TEMPORAL_PROFILE and so on (docs/temporal.md).`
