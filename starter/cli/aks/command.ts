import { type Command, InvalidArgumentError, Option } from 'commander'
import { defined } from '../../../core/values/defined.ts'
import type { SetupOptions } from './setup.ts'
import type { ImageName, ValuesOptions } from './write-values.ts'

const login = `
The login is that of the Azure CLI (az login), or what AZURE_TOKEN_CREDENTIALS names. Without --subscription it is ARM_SUBSCRIPTION_ID, or the only
subscription that the login sees; without --resource-group any that has a cluster of this name.`

/** Adds what `aks` takes, which reads an AKS cluster by ARM: it writes values of the chart, and sets up Joiner's identity. */
export function registerAks(command: Command): void {
  clusterOptions(command.command('values'))
    .description("Write the chart's values for an AKS cluster, with a comment that says where each comes from")
    .option('--image <name>', "Joiner's image in your registry: REGISTRY/joiner:TAG", parseImage)
    .option('--output-file <file>', 'file to write (default: standard output)')
    .addHelpText(
      'after',
      `${login}
Exit code: 0, 1 when Azure refuses something or a value is missing without which the chart installs nothing, 2 for wrong options.
  joiner admin aks values --cluster-name prod --resource-group clusters --image myregistry.azurecr.io/joiner:0.2.0 --output-file joiner-values.yaml`,
    )
    .action(async (options: ValuesOptions) => {
      const { writeValues } = await import('./write-values.ts')
      process.exitCode = await reported(() => writeValues(options))
    })
  clusterOptions(command.command('setup'))
    .description("Make what Joiner's identity at Azure lacks, or print the commands for it")
    .addOption(new Option('--joiner-namespace <name>', "Joiner's namespace").env('JOINER_NAMESPACE').default('joiner'))
    .option('--service-account <name>', 'ServiceAccount of joiner-azure', 'joiner-azure')
    .option('--dry-run', 'print the commands that make what is missing, and change nothing')
    .option('--yes', 'do not ask')
    .addHelpText(
      'after',
      `${login}
It needs a managed identity, a federated credential, two custom roles and their assignments (docs/azure-access.md). What is there stays; run it again
after something failed. Exit code: 0, 1 when something is left or the cluster cannot be set up, 2 for wrong options.
  joiner admin aks setup --cluster-name prod --resource-group clusters --dry-run
  joiner admin aks setup --cluster-name prod --resource-group clusters --yes`,
    )
    .action(async (options: SetupOptions) => {
      const { setUp } = await import('./setup.ts')
      process.exitCode = await reported(() => setUp(options))
    })
}

function clusterOptions(command: Command): Command {
  return command
    .requiredOption('--cluster-name <name>', 'name of the AKS cluster')
    .option('--resource-group <name>', 'resource group of the cluster')
    .option('--subscription <id>', 'subscription of the cluster')
    .option('--identity <name>', "Joiner's managed identity, in the cluster's resource group (default: joiner-CLUSTER)")
}

/** What Azure refuses is no bug of Joiner: its words are printed. */
async function reported(run: () => Promise<number>): Promise<number> {
  const [{ ArmRefusal }, { whyOf }] = await Promise.all([
    import('../../picture/arm-reader.ts'),
    import('../../picture/missing.ts'),
  ])
  try {
    return await run()
  } catch (error) {
    const { name, code } = error as { readonly name?: string; readonly code?: string }
    if (!(error instanceof ArmRefusal) && name !== 'RestError' && name !== 'TimeoutError') throw error
    const remedy =
      error instanceof ArmRefusal && error.status === 401
        ? '; the login may be of another tenant: az login --tenant TENANT-OF-THE-CLUSTER'
        : error instanceof ArmRefusal && error.status === 403
          ? '; ask for the role Reader there'
          : ''
    console.error(`Azure: ${whyOf(error)}${remedy}${code === 'ENOTFOUND' ? '; check the network' : ''}`)
    return 1
  }
}

/** Reads `REGISTRY/joiner:TAG@sha256:...`, of which tag and digest may be left out. Errors: InvalidArgumentError. */
export function parseImage(text: string): ImageName {
  const { repository, tag, digest } =
    /^(?<repository>[\w.-]+(?::\d+)?(?:\/[\w.-]+)+)(?::(?<tag>\w[\w.-]*))?(?:@(?<digest>sha256:[0-9a-f]{64}))?$/.exec(
      text,
    )?.groups ?? {}
  if (repository === undefined)
    throw new InvalidArgumentError('It must be an image of a registry, such as myregistry.azurecr.io/joiner:0.2.0.')
  return { repository, ...defined({ tag, digest }) }
}
