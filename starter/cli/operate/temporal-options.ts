import { type Command, Option } from 'commander'
import { type ClusterOptions, clusterOptions } from '../shared/options.ts'

/** How a command finds Joiner in Temporal: by the cluster that it is installed in, or by the settings of the worker, which flags override. */
export interface TemporalOptions extends ClusterOptions {
  readonly temporalAddress?: string
  readonly temporalNamespace?: string
  readonly clusterName?: string
  readonly dryRun?: true
}

const temporalGroup = 'Temporal options:'

/** Adds the options that every command has which talks to Joiner's workflows, those of the cluster included. */
export function temporalOptions(command: Command): Command {
  return clusterOptions(command)
    .addOption(
      new Option(
        '--temporal-address <host:port>',
        "Temporal's frontend (default: TEMPORAL_ADDRESS, or the profile, or as Joiner's settings in the cluster say)",
      ).helpGroup(temporalGroup),
    )
    .addOption(
      new Option(
        '--temporal-namespace <name>',
        'the namespace that Joiner uses there (default: in the same order, else "default")',
      ).helpGroup(temporalGroup),
    )
    .addOption(
      new Option('--cluster-name <name>', 'name of the cluster; required only if several use this Temporal namespace')
        .env('CLUSTER_NAME')
        .helpGroup(temporalGroup),
    )
}

/** Adds what `options` does: it lists what most commands take. */
export function registerOptions(command: Command): void {
  temporalOptions(command)
    .addHelpText(
      'after',
      `
Commands read Joiner's settings from the cluster of the kubeconfig, and reach Temporal directly, or through the API server where its address does
not answer from here. TEMPORAL_ADDRESS and Temporal's other variables come before those settings: TEMPORAL_TLS_CLIENT_CERT_PATH, TEMPORAL_API_KEY,
TEMPORAL_PROFILE and so on (docs/temporal.md).`,
    )
    .action(() => command.outputHelp())
}
