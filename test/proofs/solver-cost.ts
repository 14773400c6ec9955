import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { World } from '../world.ts'

const run = promisify(execFile)
const joiner = fileURLToPath(new URL('../../starter/joiner.ts', import.meta.url))
const capacityTypeLabel = 'karpenter.sh/capacity-type'
const typeLabel = 'node.kubernetes.io/instance-type'
const zoneLabel = 'topology.kubernetes.io/zone'

interface Catalogue {
  readonly instanceTypes: readonly {
    readonly name: string
    readonly offerings: readonly {
      readonly price: number
      readonly requirements: readonly { readonly key: string; readonly values?: readonly string[] }[]
    }[]
  }[]
}

/** What Azure sells, from the command that an operator asks, and what clusters of it cost. */
export class Prices {
  readonly #world: World
  readonly #file: string
  readonly #byOffering: ReadonlyMap<string, number>

  private constructor(world: World, file: string, catalogue: Catalogue) {
    this.#world = world
    this.#file = file
    const valueOf = (entry: Catalogue['instanceTypes'][number]['offerings'][number], wanted: string) =>
      entry.requirements.find(({ key }) => key === wanted)?.values?.[0]
    this.#byOffering = new Map(
      catalogue.instanceTypes.flatMap(({ name, offerings }) =>
        offerings.map((one) => [`${name} ${valueOf(one, zoneLabel)} ${valueOf(one, capacityTypeLabel)}`, one.price]),
      ),
    )
  }

  static async read(world: World): Promise<Prices> {
    const { env } = world.installation.processSpec()
    const { stdout } = await run(process.execPath, [joiner, 'instance-types', '--output', 'json'], {
      env: { ...process.env, ...env },
      maxBuffer: 64 * 1024 * 1024,
    })
    const file = join(world.cluster.stateDir, 'catalogue.json')
    await writeFile(file, stdout)
    return new Prices(world, file, JSON.parse(stdout) as Catalogue)
  }

  /** USD an hour of a node with these labels. Errors: nobody sells it. */
  ofNode(labels: Readonly<Record<string, string>> = {}): number {
    const offering = `${labels[typeLabel]} ${labels[zoneLabel]} ${labels[capacityTypeLabel]}`
    const price = this.#byOffering.get(offering)
    if (price === undefined) throw new Error(`the catalogue has no price for ${offering}`)
    return price
  }

  /** What `joiner simulate` pays for the pods of now in an empty cluster with the same NodePools. Errors: a pod finds no place. */
  async onEmptyCluster(): Promise<{ readonly cost: number; readonly nodes: number }> {
    const args = ['get', 'nodepools,aksnodeclasses,daemonsets,namespaces', '-A', '-o', 'json']
    const others = JSON.parse(await this.#world.operator.kubectl(args)) as { readonly items: readonly object[] }
    const pods = JSON.parse(await this.#world.operator.kubectl(['get', 'pods', '-o', 'json'])) as {
      readonly items: readonly Record<string, unknown>[]
    }
    const file = join(this.#world.cluster.stateDir, 'pods-of-now.json')
    await writeFile(file, JSON.stringify({ kind: 'List', items: [...others.items, ...pods.items.map(unbound)] }))
    const { stdout } = await run(
      process.execPath,
      [joiner, 'simulate', file, '--catalog', this.#file, '--complete', '--output', 'json'],
      { maxBuffer: 64 * 1024 * 1024 },
    )
    const { newNodeClaims, errors } = JSON.parse(stdout) as {
      readonly newNodeClaims: readonly { readonly cheapestPrice: number; readonly pods: readonly string[] }[]
      readonly errors: Readonly<Record<string, string>>
    }
    const placed = newNodeClaims.reduce((sum, claim) => sum + claim.pods.length, 0)
    if (placed !== pods.items.length)
      throw new Error(`the solver places ${placed} of ${pods.items.length} pods: ${JSON.stringify(errors)}`)
    return {
      cost: newNodeClaims.reduce((sum, { cheapestPrice }) => sum + cheapestPrice, 0),
      nodes: newNodeClaims.length,
    }
  }
}

/** A pod as it was before it had a node. */
function unbound(pod: Record<string, unknown>): Record<string, unknown> {
  const { nodeName: _, ...spec } = pod['spec'] as Record<string, unknown>
  const { status: __, ...rest } = pod
  return { ...rest, spec }
}
