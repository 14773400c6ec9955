import type { Command } from 'commander'

/** A command, and what loads the rest of it: a start waits for the code of no other command. */
export interface Known {
  readonly name: string
  readonly does: string
  /** What else it goes by. */
  readonly aliases?: readonly string[]
  /** Returns what adds arguments, options, subcommands and the action. */
  readonly load?: () => Promise<(command: Command) => void>
  /** Subcommands that are loaded when they are asked for. */
  readonly parts?: readonly Known[]
}

/** Adds commands. `words`: what was typed, of which the first names the one that is loaded; undefined loads all of them. */
export async function addCommands(program: Command, known: readonly Known[], words?: readonly string[]): Promise<void> {
  for (const { name, aliases = [], does, load, parts = [] } of known) {
    const command = program
      .command(name)
      .aliases([...aliases])
      .description(does)
    if (words !== undefined && ![name, ...aliases].includes(words[0] ?? '')) continue
    ;(await load?.())?.(command)
    await addCommands(command, parts, words?.slice(1))
  }
}

/** Adds the commands that look into a cluster, operate it or need none, by what a person wants of them (see {@link addCommands}). */
export async function registerCommands(program: Command, words?: readonly string[]): Promise<void> {
  const isTyped = ({ name, aliases = [] }: Known) => [name, ...aliases].includes(words?.[0] ?? '')
  const isKnown = Object.values(groups).flat().some(isTyped)
  for (const [heading, known] of Object.entries(groups)) {
    program.commandsGroup(`${heading}:`)
    // Who types a command by its name is shown no others, and each takes time to set up.
    await addCommands(program, isKnown ? known.filter(isTyped) : known, words)
  }
}

/** Returns the command that words name, as far as it is registered. */
export function commandOf(program: Command, [word, ...words]: readonly string[]): Command {
  const found = program.commands.find((one) => one.name() === word || one.aliases().includes(word ?? ''))
  return found === undefined ? program : commandOf(found, words)
}

const groups: Readonly<Record<string, readonly Known[]>> = {
  'Without a cluster': [
    {
      name: 'convert',
      does: "Print a file's manifests in their newest API versions; other kinds are left unchanged",
      load: async () => (await import('./convert/convert.ts')).registerConvert,
    },
    {
      name: 'instance-types',
      does: 'List the instance types that the planner can choose from, by price',
      load: async () => (await import('./instance-types/command.ts')).registerInstanceTypes,
    },
    {
      name: 'simulate',
      does: 'Report where pods would go and what that costs, or what would be disrupted, without a cluster',
      load: async () => (await import('./simulate/command.ts')).registerSimulate,
    },
    {
      name: 'validate',
      does: 'Check manifests as the API server and Joiner would, without a cluster; unknown kinds are skipped',
      load: async () => (await import('./validate/validate.ts')).registerValidate,
    },
  ],
  'See and explain': [
    {
      name: 'status',
      does: 'Show loops, pauses, disruption commands, nodes by phase, and problems',
      load: async () => (await import('./status/command.ts')).registerStatus,
    },
    {
      name: 'top',
      does: 'Show nodes live: utilization, price, phase, and why pods are pending',
      load: async () => (await import('./top/command.ts')).registerTop,
    },
    {
      name: 'ui',
      does: 'Serve a page on this machine that shows nodes, pods, decisions, cost, budgets and pauses, live',
      load: async () => (await import('./ui/command.ts')).registerUi,
    },
    {
      name: 'node',
      aliases: ['nodes'],
      does: 'Show the lifecycle of nodes; retry a step, hold, release or force-finish a node',
      load: async () => (await import('./node/command.ts')).registerNode,
    },
    {
      name: 'history',
      does: 'Show which nodes there were, why they came and went, and what they cost, also for nodes that are gone',
      load: async () => (await import('./history/command.ts')).registerHistory,
      parts: [
        {
          name: 'report',
          does: 'Report on a time: nodes, launch latency, capacity failures, disruption, interruptions, waits',
          load: async () => (await import('./report/command.ts')).registerReport,
        },
      ],
    },
    {
      name: 'why',
      does: 'Explain why a node is not disrupted, or why a pod is pending',
      load: async () => (await import('./why/command.ts')).registerWhy,
    },
    {
      name: 'cost',
      does: 'Show what nodes cost by NodePool, label, namespace or workload, what is idle, and what disruption saved',
      load: async () => (await import('./cost/command.ts')).registerCost,
    },
    {
      name: 'budgets',
      does: 'Show how many nodes disruption budgets allow to disrupt, now and in the coming days, and the limiting budget',
      load: async () => (await import('./budgets/command.ts')).registerBudgets,
    },
    {
      name: 'blocked',
      does: 'Show what keeps nodes from being made: quotas, offerings that Azure refused, and objects that crash planning',
      parts: [
        {
          name: 'quota',
          does: 'Show vCPU quotas of the subscription in the region, and the NodePools they block',
          load: async () => (await import('./quota/command.ts')).registerQuota,
        },
        {
          name: 'capacity',
          does: 'List offerings excluded after Azure refused them, and clear them',
          load: async () => (await import('./capacity/command.ts')).registerCapacity,
        },
        {
          name: 'objects',
          does: 'List objects excluded from planning because they crashed the scheduler, and clear them',
          load: async () => (await import('./quarantine/command.ts')).registerQuarantine,
        },
      ],
    },
    {
      name: 'advise',
      does: 'Report what the nodes of a cluster cost and what Joiner would save, beside any autoscaler',
      load: async () => (await import('./advise/command.ts')).registerAdvise,
    },
  ],
  'Disruption and pauses': [
    {
      name: 'pause',
      does: 'Pause disruption, a part of it, or provisioning; deletions under way continue',
      load: async () => (await import('./operate/pause-command.ts')).registerPause,
    },
    {
      name: 'resume',
      does: 'Resume what was paused; name the scope as in the pause',
      load: async () => (await import('./operate/pause-command.ts')).registerResume,
    },
    {
      name: 'plan',
      does: 'Show what disruption would do now: nodes removed and added, pods moved, cost before and after, and blockers',
      load: async () => (await import('./operate/request-commands.ts')).registerPlan,
    },
    {
      name: 'apply',
      does: 'Carry out a disruption plan, or report what has changed since it was made',
      load: async () => (await import('./operate/request-commands.ts')).registerApply,
    },
    {
      name: 'consolidate',
      does: 'Evaluate disruption now and start its commands, ignoring consolidateAfter and the validation delay',
      load: async () => (await import('./operate/request-commands.ts')).registerConsolidate,
    },
  ],
  'Install and repair': [
    {
      name: 'doctor',
      does: 'Check what Joiner needs from Azure, Kubernetes and Temporal, and print the commands that fix each problem',
      load: async () => (await import('./doctor/command.ts')).registerDoctor,
    },
    {
      name: 'admin',
      does: 'Set up identity and values, adopt VMs, take over, apply CRDs, and uninstall',
      parts: [
        {
          name: 'aks',
          does: "Set up Joiner's identity at Azure, and write the chart's values",
          load: async () => (await import('./aks/command.ts')).registerAks,
        },
        {
          name: 'adopt',
          does: 'Give VMs that lost their NodeClaims and run pods a NodeClaim again, or end them with a drain',
          load: async () => (await import('./adopt/command.ts')).registerAdopt,
        },
        {
          name: 'takeover',
          does: 'Transfer the CRDs to this installation, or a name in Temporal to this cluster, after the previous owner is gone',
          load: async () => (await import('./takeover/command.ts')).registerTakeover,
        },
        {
          name: 'crds',
          does: 'Bring the CRDs to this version, or release them before an uninstall',
          load: async () => (await import('./crds/command.ts')).registerCrds,
        },
        {
          name: 'uninstall',
          does: 'Take Joiner out of the cluster: stop it, end its workflows, keep or remove its nodes',
          load: async () => (await import('./uninstall/command.ts')).registerUninstall,
        },
      ],
    },
  ],
}
