import { type Command, Option } from 'commander'

interface Options {
  readonly joinerNamespace: string
  readonly cluster?: string
  readonly output: 'text' | 'json'
}

interface PodOptions extends Options {
  readonly namespace?: string
}

/** Adds `why`, which says what keeps a node, and what a pod has to do with it. */
export function registerWhy(program: Command): void {
  const why = program.command('why').description('Explain why a node is not disrupted, or why a pod is pending')
  common(why.command('node'))
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
    .action(async (name: string, options: Options) => {
      process.exitCode = await whyNode(name, options)
    })
  common(why.command('pod'))
    .argument('<name>', 'NAMESPACE/NAME, or NAME with --namespace')
    .option('-n, --namespace <name>', "the pod's namespace")
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
  return command
    .option(
      '--joiner-namespace <name>',
      "Joiner's namespace, where it keeps what it found",
      process.env['JOINER_NAMESPACE'] ?? 'joiner',
    )
    .addOption(new Option('--cluster <name>', 'name of the cluster, for workflow ids').env('CLUSTER_NAME'))
    .addOption(new Option('--output <format>', 'output format').choices(['text', 'json']).default('text'))
}

const where = ({ joinerNamespace, cluster }: Options) => ({
  namespace: joinerNamespace,
  now: Date.now(),
  ...(cluster === undefined ? {} : { cluster }),
})

async function whyNode(name: string, options: Options): Promise<number> {
  const [{ readNode }, { nodeReport }, { nodeText }] = await Promise.all([
    import('./read.ts'),
    import('./node-report.ts'),
    import('./node-text.ts'),
  ])
  return answer(options, `there is no Node and no NodeClaim "${name}"; kubectl get nodes,nodeclaims`, async () => {
    const facts = await readNode(name, where(options))
    if (facts === undefined) return undefined
    const report = nodeReport(facts)
    return { report, text: nodeText(report, facts.now) }
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
  const [{ readPod }, { podReport }, { podText }] = await Promise.all([
    import('./read.ts'),
    import('./pod-report.ts'),
    import('./pod-text.ts'),
  ])
  return answer(options, `there is no pod ${namespace}/${own}; kubectl get pods --namespace ${namespace}`, async () => {
    const facts = await readPod(namespace, own, where(options))
    if (facts === undefined) return undefined
    const report = podReport(facts)
    return { report, text: podText(report, facts.now) }
  })
}

interface Answer {
  readonly report: object
  readonly text: string
}

async function answer(
  { joinerNamespace, output }: Options,
  missing: string,
  ask: () => Promise<Answer | undefined>,
): Promise<number> {
  const { reason } = await import('../doctor/check.ts')
  let found: Answer | undefined
  try {
    found = await ask()
  } catch (error) {
    console.error(`${reason(error)}; check KUBECONFIG and --joiner-namespace "${joinerNamespace}"`)
    return 1
  }
  if (found === undefined) {
    console.error(missing)
    return 2
  }
  console.log(output === 'json' ? JSON.stringify(found.report, null, 2) : found.text)
  return 0
}
