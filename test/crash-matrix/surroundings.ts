import type { JournalEntry } from '../../deploy/local/azure/server/arm-deps.ts'
import type { FaultyWorld, Picture } from '../faulty-world.ts'
import { poolIn, type StepReader } from './steps.ts'

/** How much there is of what belongs to a pool. */
export interface Counts {
  readonly nodeClaims: number
  readonly nodes: number
  readonly vms: number
  readonly nics: number
  readonly disks: number
  readonly tokens: number
  readonly lifecycles: number
  readonly commands: number
  readonly nodePools: number
  readonly nodeClasses: number
}

/** All that there is at one moment. */
export class Surroundings {
  readonly picture: Picture
  readonly #names: Readonly<Record<keyof Counts, readonly (string | undefined)[]>>

  private constructor(picture: Picture, names: Readonly<Record<keyof Counts, readonly (string | undefined)[]>>) {
    this.picture = picture
    this.#names = names
  }

  static async look(faulty: FaultyWorld, reader: StepReader): Promise<Surroundings> {
    const { world } = faulty
    const secrets = '/api/v1/namespaces/kube-system/secrets?labelSelector=joiner.sh/nodeclaim-uid'
    const [picture, claims, nodes, pools, classes, azure, tokens, runs] = await Promise.all([
      faulty.look(),
      world.list('nodeclaims'),
      world.list('nodes'),
      world.list('nodepools'),
      world.list('aksnodeclasses'),
      world.azure(),
      world.operator.api<{ items: readonly { metadata: { labels: Record<string, string> } }[] }>('GET', secrets),
      openRuns(faulty),
    ])
    const namesOf = (objects: readonly { readonly metadata: { readonly name: string } }[]) =>
      objects.map(({ metadata }) => poolIn(metadata.name))
    return new Surroundings(picture, {
      nodeClaims: namesOf(claims),
      nodes: namesOf(nodes),
      nodePools: namesOf(pools),
      nodeClasses: namesOf(classes),
      vms: azure.virtualMachines.map(({ name }) => poolIn(name)),
      nics: azure.networkInterfaces.map(poolIn),
      disks: azure.disks.map(poolIn),
      tokens: tokens.items.map(({ metadata }) => reader.ownerOf(metadata.labels['joiner.sh/nodeclaim-uid'] ?? '')),
      lifecycles: runs.filter(({ type }) => type === 'nodeClaimLifecycle').map(({ pool }) => pool),
      commands: runs.filter(({ type }) => type === 'disruptionCommand').map(({ pool }) => pool),
    })
  }

  counts(pool: string): Counts {
    const entries = Object.entries(this.#names).map(([kind, pools]) => [
      kind,
      pools.filter((one) => one === pool).length,
    ])
    return Object.fromEntries(entries) as Counts
  }
}

interface OpenRun {
  readonly type: string
  readonly pool: string | undefined
}

async function openRuns({ world }: FaultyWorld): Promise<readonly OpenRun[]> {
  const query =
    "ExecutionStatus = 'Running' AND (WorkflowType = 'nodeClaimLifecycle' OR WorkflowType = 'disruptionCommand')"
  const found: OpenRun[] = []
  for await (const { type, workflowId, typedSearchAttributes } of world.temporal.workflow.list({ query })) {
    const attributes = JSON.stringify(typedSearchAttributes.getAll())
    found.push({ type, pool: poolIn(workflowId) ?? poolIn(attributes) })
  }
  return found
}

/** What Azure was asked for twice, or had twice at once. Undefined: nothing. */
export function duplicateIn(journal: readonly JournalEntry[], pool: string, atOnce: number): string | undefined {
  const own = journal.filter(({ name }) => poolIn(name) === pool)
  const alive = new Set<string>()
  const made = new Set<string>()
  for (const { method, name } of own) {
    if (method === 'DELETE') alive.delete(name)
    if (method !== 'PUT') continue
    if (made.has(name)) return `VM ${name} was asked for twice`
    made.add(name)
    alive.add(name)
    if (alive.size > atOnce) return `${[...alive].join(', ')} at once`
  }
  return undefined
}
