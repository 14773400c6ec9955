import { type Command, Option } from 'commander'
import { type Answer, print } from '../../document/print.ts'
import {
  type ClusterOptions,
  type ConnectionOptions,
  clusterOptions,
  connectionOptions,
  type OutputFormat,
  outputOption,
} from '../shared/options.ts'

interface Options extends ConnectionOptions {
  readonly cluster?: string
  readonly output: OutputFormat
}

interface PodOptions extends Options {
  /** That of the pod. */
  readonly namespace?: string
}

/** Adds `why`, which says what keeps a node, and what a pod has to do with it. */
export function registerWhy(program: Command): void {
  const why = program.command('why').description('Explain why a node is not disrupted, or why a pod is pending')
  common(clusterOptions(why.command('node')))
    .argument('<name>', 'name of the Node or NodeClaim')
    .description('Explain the last evaluation of a node: each move, its blockers, the savings forgone, and remedies')
    .addHelpText(
      'after',
      `
emptiness, drift, multi-node and single-node are the ways in which a node can go. What is not saved is an upper bound: what the node costs. Joiner
evaluates all nodes when something changes, and every 5 minutes; what it found is in the ConfigMaps joiner-evaluations-0 to -15 after 30 s at most.
  joiner why node aks-general-7kq2x
Exit code: 0, 1 when the cluster does not answer, 2 when there is no such node.`,
    )
    .action(async (name: string, options: Options & ClusterOptions) => {
      process.exitCode = await whyNode(name, options)
    })
  common(connectionOptions(why.command('pod')))
    .argument('<name>', 'NAMESPACE/NAME, or NAME with --namespace')
    .option('-n, --namespace <name>', "the pod's namespace; that of Joiner is JOINER_NAMESPACE, else joiner")
    .description('Explain why a pod is pending, or how it keeps its node from disruption')
    .addHelpText(
      'after',
      `
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
    command.addOption(new Option('--cluster <name>', 'name of the cluster, for workflow ids').env('CLUSTER_NAME')),
  )
}

const where = ({ cluster, ...options }: Options & ClusterOptions) => ({
  ...options,
  now: Date.now(),
  ...(cluster === undefined ? {} : { cluster }),
})

async function whyNode(name: string, options: Options & ClusterOptions): Promise<number> {
  const [{ readNode }, { nodeReport }, { nodeDocument }] = await Promise.all([
    import('./read.ts'),
    import('./node-report.ts'),
    import('./node-text.ts'),
  ])
  return answer(options, `there is no Node and no NodeClaim "${name}"; kubectl get nodes,nodeclaims`, async () => {
    const facts = await readNode(name, where(options))
    if (facts === undefined) return undefined
    const report = nodeReport(facts)
    return { json: report, document: () => nodeDocument(report, facts.now) }
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
    import('./read.ts'),
    import('./pod-report.ts'),
    import('./pod-text.ts'),
  ])
  const joiners = { ...options, namespace: process.env['JOINER_NAMESPACE'] ?? 'joiner' }
  return answer(joiners, `there is no pod ${namespace}/${own}; kubectl get pods --namespace ${namespace}`, async () => {
    const facts = await readPod(namespace, own, where(joiners))
    if (facts === undefined) return undefined
    const report = podReport(facts)
    return { json: report, document: () => podDocument(report, facts.now) }
  })
}

async function answer(
  { output }: Pick<Options, 'output'>,
  missing: string,
  ask: () => Promise<Answer | undefined>,
): Promise<number> {
  const { unanswered } = await import('../../picture/missing.ts')
  let found: Answer | undefined
  try {
    found = await ask()
  } catch (error) {
    console.error(unanswered(error))
    return 1
  }
  if (found === undefined) {
    console.error(missing)
    return 2
  }
  await print(output, found)
  return 0
}
