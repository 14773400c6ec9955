import type { Command } from 'commander'
import { another, type ClusterOptions, clusterOptions, outputOption, wholeNumber } from '../shared/options.ts'
import type { InstanceTypesSettings } from './run.ts'

const help = `
Prints the instance types of a region as the planner sees them for a node class, the cheapest first, and those that
cannot be had last. Types that the requirements exclude are left out.

With --catalog everything comes from files, and Azure is not asked: resource SKUs of one region (ARM's answer, or
az vm list-skus -o json), and prices as the retail price API answers. Without it the SKUs of the subscription
ARM_SUBSCRIPTION_ID (or that of Joiner in the cluster of the kubeconfig) are read with the credential that the environment gives, or that of the Azure CLI, with
quota, and prices unless --prices gives them. What has no quota counts as not available; refusals that a cluster's
Joiner remembers do not (joiner blocked capacity list).
Prices are in USD an hour. Without a price list they are modelled, and standard error says so; a size that a list does
not name costs 999.

With --overlays the types are as NodeOverlays make them for a NodePool that sets no labels; overlays that select a
NodePool or its labels change nothing. The output then has their prices, so joiner simulate needs no NodeOverlays.

Requirements are written as label selectors, joined by commas; the option may be repeated:
  karpenter.azure.com/sku-family in (D,E)    karpenter.sh/capacity-type=spot    kubernetes.io/arch!=arm64
  karpenter.azure.com/sku-cpu > 4            karpenter.azure.com/sku-gpu-name   !karpenter.azure.com/sku-gpu-name

--output json and yaml print what joiner simulate takes with --catalog.

Exit code: 0 also when nothing is left, 1 for input that cannot be used and for what Azure refuses, 2 for wrong usage.

Examples:
  joiner instance-types --region eastus --requirements 'karpenter.azure.com/sku-family in (D)'
  joiner instance-types --catalog skus.json --prices prices.json --node-class class.yaml --limit 20
  joiner instance-types --catalog skus.json --excluded`

/** Adds what `instance-types` takes. What it needs is loaded when it is asked for. */
export function registerInstanceTypes(command: Command): void {
  outputOption(clusterOptions(command), ['name'])
    .option('--region <name>', "region (default: the catalogue file's, else LOCATION)")
    .option('--requirements <selector>', 'requirements that types must meet; repeatable', another, [])
    .option('--catalog <file>', 'file of resource SKUs to read instead of asking Azure')
    .option('--prices <file>', 'file of retail prices to read instead of asking the API; repeatable', another, [])
    .option('--node-class <file>', 'YAML of an AKSNodeClass (default: an empty one)')
    .option('--overlays <file>', 'YAML of NodeOverlays that change prices and resources; repeatable', another, [])
    .option('--limit <count>', 'maximum number of types to print', wholeNumber(1))
    .option('--excluded', 'list the excluded sizes instead, each with the reason')
    .addHelpText('after', help)
    .action(async (options: Options) => {
      process.exitCode = await instanceTypes(options)
    })
}

interface Options extends InstanceTypesSettings, ClusterOptions {
  readonly catalog?: string
  readonly prices: readonly string[]
  readonly nodeClass?: string
  readonly overlays: readonly string[]
}

async function instanceTypes(options: Options): Promise<number> {
  const [{ needInput }, { runInstanceTypes }] = await Promise.all([import('../shared/input.ts'), import('./run.ts')])
  const {
    catalog: catalogueFile,
    prices: priceFiles,
    nodeClass: classFile,
    overlays: overlayFiles,
    ...settings
  } = options
  if (catalogueFile === undefined) await takeSettings(options)
  const catalogue = catalogueFile === undefined ? undefined : await needInput(catalogueFile)
  const nodeClass = classFile === undefined ? undefined : await needInput(classFile)
  const prices = await Promise.all(priceFiles.map(needInput))
  const overlays = await Promise.all(overlayFiles.map(needInput))
  return runInstanceTypes({
    settings,
    prices,
    overlays,
    ...(catalogue && { catalogue }),
    ...(nodeClass && { nodeClass }),
  })
}

/** Azure is asked as Joiner in the cluster asks it, where the environment does not say how. Without a cluster the environment has to. */
async function takeSettings(options: ClusterOptions): Promise<void> {
  if (process.env['ARM_SUBSCRIPTION_ID'] ?? process.env['AZURE_SUBSCRIPTION_ID']) return
  const { clusterEnvironment } = await import('../access/azure-settings.ts')
  try {
    for (const [name, value] of Object.entries(await clusterEnvironment(options, process.env)))
      process.env[name] ??= value
  } catch (error) {
    console.error(`note: Joiner's settings are not read from a cluster: ${(error as Error).message}`)
  }
}
