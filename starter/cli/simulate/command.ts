import { type Command, InvalidArgumentError, Option } from 'commander'
import { another, outputOption, wholeNumber } from '../shared/options.ts'
import type { SimulateSettings } from './simulate.ts'

const manifestHelp = `
FILES are one scenario (JSON with "objects" and "instanceTypes"), or manifests as kubectl get -o json (far faster to read) or -o yaml
prints them: lists, several documents, directories with everything below them. Without FILES, or with -, standard
input is read.

Manifests stand for a cluster as it is:
  - A pod waits for a node only if its condition PodScheduled says Unschedulable.
  - A NodePool takes part only with the condition Ready=True, as in the cluster, and, where AKSNodeClasses are among
    the manifests, only if its own is there and is ready. NodePools of other node classes are not Joiner's.
  - Pods of nodes that are being deleted move, unless a PodDisruptionBudget never lets them go; that its status allows
    no disruption just now keeps none. v1beta1 NodePools and NodeClaims are converted.
  - NodeOverlays change prices and resources with --feature-gates NodeOverlay=true.
  - Objects of other kinds are counted on standard error. Of an object that is there twice the last one counts.
--disruption asks what would be disrupted, as one evaluation of Joiner decides; --policy karpenter decides as one pass
of Karpenter, which ends at its first command. Nodes are looked at as their conditions Consolidatable and Drifted say.
A scenario with "method" (emptiness, drift, static-drift, multi-node, single-node) asks what this method alone would
disrupt, as Karpenter decides: its "options", such as spotToSpotConsolidation and reconcileConditions, replace the
flags about placement.
--complete reads hand-written manifests as the API server would hold them:
  - A NodePool without conditions is ready, and a pod without a node and without a PodScheduled condition is pending,
    unless scheduling gates hold it back. What the API server would refuse of NodePools and AKSNodeClasses is an error.
  - Pods get the defaults of creation: requests from limits, host ports of hostNetwork, label keys of affinity terms,
    what their RuntimeClass and PriorityClass say, claims of ephemeral volumes, and the default StorageClass.
  - Deployments, ReplicaSets, StatefulSets and Jobs have the pods that they lack, and a CronJob those of one run. Pods
    of DaemonSets take their room on each new node.
Manifests need --catalog: a scenario's "instanceTypes", or resource SKUs of one region (az vm list-skus -o json, or
ARM's answer) with --prices, answers of the retail prices API, or with --fetch-prices REGION, which asks it.

Exit code: 0 also when pods stay pending, 1 for input that cannot be used, 2 for wrong usage.

Examples:
  kubectl get pods,nodes,nodepools,nodeclaims,aksnodeclasses,daemonsets,pdb -A -o json | joiner simulate --catalog types.json
  joiner simulate scenario.json --explain default/web-0
  kubectl get pods,nodes,nodepools,nodeclaims,aksnodeclasses,pdb -A -o json | joiner simulate --disruption --catalog types.json`

/** What a simulation needs is loaded when one is asked for: other commands start faster so. */
export function registerSimulate(command: Command): void {
  outputOption(command)
    .argument('[files...]', 'a scenario, or manifest files and directories (default: standard input)')
    .option('--catalog <file>', "instance types or resource SKUs; replaces a scenario's own instance types")
    .option('--prices <file>', 'retail prices for resource SKUs; repeatable', another, [])
    .option(
      '--fetch-prices <region>',
      'ask the retail price API (or JOINER_PRICES_ENDPOINT) for the prices of resource SKUs',
    )
    .option('--complete', 'read hand-written manifests as the API server would hold them, with the pods of workloads')
    .option('--disruption', 'report what would be disrupted instead of where pods would go')
    .addOption(
      new Option(
        '--policy <policy>',
        'whose disruption it is (default: joiner; karpenter for a scenario with "method")',
      ).choices(['joiner', 'karpenter']),
    )
    .option('--explain <pod>', 'explain the placement of one pod (namespace/name)')
    .option('--now <time>', "time of the evaluation, RFC 3339 (default: the scenario's, else now)", timeText)
    .addOption(
      new Option('--preference-policy <policy>', 'whether scheduling preferences count').choices(['Respect', 'Ignore']),
    )
    .addOption(
      new Option('--min-values-policy <policy>', 'whether minValues may be relaxed').choices(['Strict', 'BestEffort']),
    )
    .option('--feature-gates <list>', 'Name=true or Name=false, separated by commas')
    .option('--scheduler-config <file>', 'YAML with podTopologySpread.defaultConstraints')
    .option('--time', 'write the duration of each round to standard error as JSON')
    .option('--rounds <count>', 'number of times to solve in one process', wholeNumber(1), 1)
    .addHelpText('after', manifestHelp)
    .action(async (files: readonly string[], options: Options) => {
      process.exitCode = await runSimulate(files.length === 0 ? ['-'] : files, options)
    })
}

interface Options extends SimulateSettings {
  readonly catalog?: string
  readonly prices: readonly string[]
  readonly fetchPrices?: string
  readonly schedulerConfig?: string
}

async function runSimulate(inputs: readonly string[], options: Options): Promise<number> {
  const [{ needInput }, { simulate }, { fetchedPrices, readInputs }] = await Promise.all([
    import('../shared/input.ts'),
    import('./simulate.ts'),
    import('./load.ts'),
  ])
  const { catalog: catalogFile, prices: priceFiles, fetchPrices, schedulerConfig: configFile, ...settings } = options
  const files = await readInputs(inputs)
  const catalog = catalogFile === undefined ? undefined : await needInput(catalogFile)
  const prices = await Promise.all([...priceFiles.map(needInput), ...(fetchPrices ? [fetchedPrices(fetchPrices)] : [])])
  const schedulerConfig = configFile === undefined ? undefined : await needInput(configFile)
  return simulate({ files, prices, settings, ...(catalog && { catalog }), ...(schedulerConfig && { schedulerConfig }) })
}

function timeText(text: string): string {
  if (Number.isNaN(Date.parse(text))) throw new InvalidArgumentError('Write a time such as 2026-03-01T12:00:00Z.')
  return text
}
