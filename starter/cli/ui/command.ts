import { type Command, InvalidArgumentError, Option } from 'commander'
import { temporalOptions } from '../operate/temporal-options.ts'
import { wholeNumber } from '../shared/options.ts'
import type { UiOptions } from './run.ts'

/** Adds what `ui` takes. */
export function registerUi(command: Command): void {
  temporalOptions(command)
    .addOption(
      new Option('--port <number>', 'port to listen on')
        .argParser(wholeNumber(0, 65_535))
        .default(0, 'any that is free'),
    )
    .option('--read-only', 'offer no actions: no pause, no hold, no plan is applied')
    .option('--no-open', 'print the link only, and open no browser')
    .addOption(
      new Option('--temporal-ui <url>', 'address of the Temporal UI, for links to workflows').env('JOINER_TEMPORAL_UI'),
    )
    .addOption(
      new Option(
        '--behind-proxy <host>',
        'for a pod behind a proxy that authenticates: serve on all addresses, read-only and without a token, under this name',
      ).argParser(hostName),
    )
    .addHelpText(
      'after',
      `
The page is served on 127.0.0.1 with the rights of your kubeconfig. The link works once, in one browser; whoever has it has your rights until Joiner's
page is ended by Ctrl-C. Nothing is loaded from elsewhere. Actions ask for confirmation, and are recorded with your name, as those of the commands.
What you may not read is named on the page. Without Temporal it shows the cluster, and neither decisions nor cost; actions are off.

Examples:
  joiner ui --read-only

Exit code: 0 when it was ended, 1 when the cluster does not answer or the port is taken, 2 for options that cannot be read.`,
    )
    .action(async (options: UiOptions) => {
      const { runUi } = await import('./run.ts')
      // What is still being tried, such as a connection to Temporal, is not waited for.
      process.exit(await runUi(options))
    })
}

function hostName(text: string): string {
  if (!/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:\d{1,5})?$/i.test(text))
    throw new InvalidArgumentError('It must be the name that browsers ask for, such as joiner.example.com.')
  return text
}
