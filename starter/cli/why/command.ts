import { type Command, Option } from 'commander'
import { type Answer, print } from '../../document/print.ts'
import type { Place } from '../../picture/node-picture.ts'
import { type ClusterOptions, clusterOptions, type OutputFormat, outputOption } from '../shared/options.ts'

interface Options extends ClusterOptions {
  readonly clusterName?: string
  readonly output: OutputFormat
}

interface PodOptions extends Options {
  /** That of the pod. */
  readonly namespace?: string
}

/** Adds what `why` takes, which says what keeps a node, and what a pod has to do with it. */
export function registerWhy(command: Command): void {
  common(command.command('node').alias('nodes'))
    .argument('<name>', 'name of the Node or NodeClaim')
    .description('Explain the last evaluation of a node: each move, its blockers, the savings forgone, and remedies')
    .addHelpText(
      'after',
      `
emptiness, drift, multi-node and single-node are the ways in which a node can go. What is not saved is an upper bound: what the node costs. Joiner
evaluates all nodes when something changes, and every 5 minutes; what it found is in the ConfigMaps joiner-evaluations-0 to -15 after 30 s at most.

Examples:
  joiner why node aks-general-7kq2x

Exit code: 0, 1 when the cluster does not answer, 2 when there is no such node.`,
    )
    .action(async (name: string, options: Options) => {
      process.exitCode = await whyNode(name, options)
    })
  common(command.command('pod').aliases(['pods', 'po']))
    .argument('<name>', 'NAMESPACE/NAME, or NAME with --namespace')
    .option('-n, --namespace <name>', "the pod's namespace")
    .description('Explain why a pod is pending, or how it keeps its node from disruption')
    .addHelpText(
      'after',
      `
Examples:
  joiner why pod shop/web-5d9c7
  joiner why pod -n shop web-5d9c7

Exit code: 0, 1 when the cluster does not answer, 2 when there is no such pod.`,
    )
    .action(async (name: string, options: PodOptions) => {
      process.exitCode = await whyPod(name, options)
    })
}

function common(command: Command): Command {
  return outputOption(
    clusterOptions(command).addOption(
      new Option('--cluster-name <name>', 'name of the cluster, for workflow ids').env('CLUSTER_NAME'),
    ),
  )
}

async function whyNode(name: string, options: Options): Promise<number> {
  const [{ readNode }, { nodeReport }, { nodeDocument }] = await Promise.all([
    import('../../picture/node-picture.ts'),
    import('../../answers/node-report.ts'),
    import('../../answers/node-report.ts'),
  ])
  return answer(options, `there is no Node and no NodeClaim "${name}"; kubectl get nodes,nodeclaims`, async (place) => {
    const picture = await readNode(name, place)
    if (picture === undefined) return undefined
    const report = nodeReport(picture)
    return { json: report, document: () => nodeDocument(report, picture.now) }
  })
}

async function whyPod(name: string, options: PodOptions): Promise<number> {
  const [first = '', ...rest] = name.split('/')
  const namespace = rest.length === 1 ? first : (options.namespace ?? 'default')
  const own = rest.length === 1 ? (rest[0] ?? '') : first
  const isContradiction = rest.length === 1 && options.namespace !== undefined && options.namespace !== first
  if (rest.length > 1 || own === '' || namespace === '' || isContradiction) {
    console.error(`"${name}" names no pod: give NAMESPACE/NAME, or NAME with --namespace`)
    return 2
  }
  const [{ readPod }, { podReport }, { podDocument }] = await Promise.all([
    import('../../picture/pod-picture.ts'),
    import('../../answers/pod-report.ts'),
    import('../../answers/pod-report.ts'),
  ])
  return answer(
    options,
    `there is no pod ${namespace}/${own}; kubectl get pods --namespace ${namespace}`,
    async (place) => {
      const picture = await readPod(namespace, own, place)
      if (picture === undefined) return undefined
      const report = podReport(picture)
      const gaps = picture.node === undefined ? [picture] : [picture, picture.node]
      return { gaps, json: report, document: () => podDocument(report, picture.now) }
    },
  )
}

async function answer(
  options: Options,
  missing: string,
  ask: (place: Place) => Promise<Answer | undefined>,
): Promise<number> {
  const { exitCodeOf, withCluster } = await import('../access/cluster.ts')
  const { joinerNamespace: namespace, clusterName: cluster, output } = options
  return exitCodeOf(async () => {
    const found = await withCluster(options, (client) =>
      ask({ client, namespace, now: Date.now(), ...(cluster !== undefined && { cluster }) }),
    )
    if (found === undefined) {
      console.error(missing)
      return 2
    }
    await print(output, found)
    return 0
  })
}
