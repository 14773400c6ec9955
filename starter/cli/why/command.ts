import { type Command, Option } from 'commander'
import { type Answer, print } from '../../document/print.ts'
import type { Place } from '../../picture/node-picture.ts'

import { type ClusterOptions, clusterOptions, type OutputFormat, outputOption, watchOption } from '../shared/options.ts'
import type { LookedFor } from './similar-names.ts'

interface Options extends ClusterOptions {
  readonly clusterName?: string
  readonly output: OutputFormat
}

interface PodOptions extends Options {
  /** That of the pod. */
  readonly namespace?: string
}

/** Adds what `why` takes, which says what keeps a node, what a pod has to do with it, and what a NodePool makes nodes for. */
export function registerWhy(command: Command): void {
  command.addHelpText(
    'after',
    `
Examples:
  joiner why aks-general-7kq2x
  joiner why shop/web`,
  )
  podNamespace(common(command.command('any', { isDefault: true })))
    .argument('[name]', 'name of a Node, NodeClaim, NodePool, pod or workload')
    .description('Explain what is called so: a Node, NodeClaim, NodePool, pod or workload, in this order')
    .action(async (name: string | undefined, options: PodOptions) => {
      if (name === undefined) command.help({ error: true })
      process.exitCode = await why(name, options)
    })
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
      process.exitCode = await answer(options, { name, kinds: ['nodes', 'nodeclaims'] }, (place) =>
        nodeAnswer(name, place),
      )
    })
  common(command.command('nodepool').alias('nodepools'))
    .argument('<name>', 'name of the NodePool')
    .description('Explain whether a NodePool makes nodes: conditions, limits, pauses, and what waiting pods miss in it')
    .action(async (name: string, options: Options) => {
      process.exitCode = await answer(options, { name, kinds: ['nodepools'] }, (place) => poolAnswer(name, place))
    })
  podNamespace(common(command.command('pod').aliases(['pods', 'po'])))
    .argument('<name>', 'NAMESPACE/NAME, or NAME with --namespace; of a pod, or of the workload that made it')
    .description('Explain why a pod is pending, or how it keeps its node from disruption')
    .addHelpText(
      'after',
      `
Examples:
  joiner why pod shop/web-5d9c7
  joiner why pod -n shop web

Exit code: 0, 1 when the cluster does not answer, 2 when there is no such pod.`,
    )
    .action(async (name: string, options: PodOptions) => {
      process.exitCode = await whyPod(name, options)
    })
}

function podNamespace(command: Command): Command {
  return command.option('-n, --namespace <name>', "the pod's namespace")
}

function common(command: Command): Command {
  return watchOption(
    outputOption(
      clusterOptions(command).addOption(
        new Option('--cluster-name <name>', 'name of the cluster, for workflow ids').env('CLUSTER_NAME'),
      ),
    ),
  )
}

/** Of what is called so: a Node or NodeClaim, a NodePool, a pod or a workload, in this order. */
async function why(name: string, options: PodOptions): Promise<number> {
  if (name.includes('/') || options.namespace !== undefined) return whyPod(name, options)
  const kinds = ['nodes', 'nodeclaims', 'nodepools'] as const
  return answer(
    options,
    { name, kinds: [...kinds, 'pods'], namespace: 'default' },
    async (place) =>
      (await nodeAnswer(name, place)) ?? (await poolAnswer(name, place)) ?? podAnswer(place, 'default', name),
  )
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
  return answer(options, { name: own, kinds: ['pods'], namespace }, (place) => podAnswer(place, namespace, own))
}

async function nodeAnswer(name: string, place: Place): Promise<Answer | undefined> {
  const [{ readNode }, { nodeDocument, nodeReport }] = await Promise.all([
    import('../../picture/node-picture.ts'),
    import('../../answers/node-report.ts'),
  ])
  const picture = await readNode(name, place)
  if (picture === undefined) return undefined
  const report = nodeReport(picture)
  return { json: report, document: () => nodeDocument(report, picture.now) }
}

async function poolAnswer(name: string, place: Place): Promise<Answer | undefined> {
  const { nodePoolDocument, readNodePool } = await import('./nodepool-report.ts')
  const report = await readNodePool(name, place)
  return report && { json: report, document: () => nodePoolDocument(report) }
}

async function podAnswer(place: Place, namespace: string, name: string): Promise<Answer | undefined> {
  const [{ readPod }, { podDocument, podReport }, { podOfWorkload }] = await Promise.all([
    import('../../picture/pod-picture.ts'),
    import('../../answers/pod-report.ts'),
    import('./similar-names.ts'),
  ])
  let picture = await readPod(namespace, name, place)
  if (picture === undefined) {
    const pod = await podOfWorkload(place, namespace, name)
    if (pod !== undefined) picture = await readPod(namespace, pod, place)
  }
  if (picture === undefined) return undefined
  const report = podReport(picture)
  return { json: report, document: () => podDocument(report, picture.now) }
}

async function answer(
  options: Options,
  looked: LookedFor,
  ask: (place: Place) => Promise<Answer | undefined>,
): Promise<number> {
  const { exitCodeOf, withCluster } = await import('../access/cluster.ts')
  const { joinerNamespace: namespace, clusterName: cluster, output } = options
  return exitCodeOf(() =>
    withCluster(options, async (client) => {
      const found = await ask({ client, namespace, now: Date.now(), ...(cluster !== undefined && { cluster }) })
      if (found === undefined) {
        console.error(await (await import('./similar-names.ts')).missingText(client, looked))
        return 2
      }
      await print(output, found)
      return 0
    }),
  )
}
