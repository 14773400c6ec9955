import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { azureIds } from '../../deploy/local/cluster.ts'
import type { World } from '../world.ts'

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

/** What a scheduler looks at but pods. Lists of the API server do not name the kinds of what they have. */
const others = [
  { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', path: '/apis/karpenter.sh/v1/nodepools' },
  {
    apiVersion: 'karpenter.azure.com/v1beta1',
    kind: 'AKSNodeClass',
    path: '/apis/karpenter.azure.com/v1beta1/aksnodeclasses',
  },
  { apiVersion: 'apps/v1', kind: 'DaemonSet', path: '/apis/apps/v1/daemonsets' },
  { apiVersion: 'v1', kind: 'Namespace', path: '/api/v1/namespaces' },
]
const pod = { apiVersion: 'v1', kind: 'Pod', path: '/api/v1/namespaces/default/pods' }

/** What Azure sells, from the command that an operator asks, and what clusters of it cost. */
export class Prices {
  readonly #world: World
  readonly #catalogue: string
  readonly #byOffering: ReadonlyMap<string, number>

  private constructor(world: World, catalogue: string) {
    this.#world = world
    this.#catalogue = catalogue
    const { instanceTypes } = JSON.parse(catalogue) as Catalogue
    const valueOf = (entry: Catalogue['instanceTypes'][number]['offerings'][number], wanted: string) =>
      entry.requirements.find(({ key }) => key === wanted)?.values?.[0]
    this.#byOffering = new Map(
      instanceTypes.flatMap(({ name, offerings }) =>
        offerings.map((one) => [`${name} ${valueOf(one, zoneLabel)} ${valueOf(one, capacityTypeLabel)}`, one.price]),
      ),
    )
  }

  static async read(world: World): Promise<Prices> {
    const args = ['instance-types', '--output', 'json']
    const { azureGet } = world.servers
    if (azureGet === undefined)
      return new Prices(world, await world.joinerWith(world.installation.processSpec().env ?? {}, ...args))
    const [skus, prices] = await soldBy(azureGet)
    const answer = inFiles({ skus, prices }, (files) =>
      world.joiner(...args, '--catalog', files.skus, '--prices', files.prices),
    )
    return new Prices(world, await answer)
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
    const items = (await Promise.all(others.map((kind) => this.#list(kind)))).flat()
    const pods = (await this.#list(pod)).map(unbound)
    const cluster = JSON.stringify({ kind: 'List', items: [...items, ...pods] })
    const answer = await inFiles({ cluster, catalogue: this.#catalogue }, (files) =>
      this.#world.joiner('simulate', files.cluster, '--catalog', files.catalogue, '--complete', '--output', 'json'),
    )
    const { newNodeClaims, errors } = JSON.parse(answer) as {
      readonly newNodeClaims: readonly { readonly cheapestPrice: number; readonly pods: readonly string[] }[]
      readonly errors: Readonly<Record<string, string>>
    }
    const placed = newNodeClaims.reduce((sum, claim) => sum + claim.pods.length, 0)
    if (placed !== pods.length)
      throw new Error(`the solver places ${placed} of ${pods.length} pods: ${JSON.stringify(errors)}`)
    return {
      cost: newNodeClaims.reduce((sum, { cheapestPrice }) => sum + cheapestPrice, 0),
      nodes: newNodeClaims.length,
    }
  }

  async #list({ path, ...kind }: typeof pod): Promise<readonly Record<string, unknown>[]> {
    const { items } = await this.#world.operator.api<{ items: readonly object[] }>('GET', path)
    return items.map((item) => ({ ...kind, ...item }))
  }
}

/** The sizes and the price list of the region, as answers of Azure. */
async function soldBy(get: (path: string) => Promise<string>): Promise<readonly [skus: string, prices: string]> {
  const skus = await get(
    `/subscriptions/${azureIds.subscriptionId}/providers/Microsoft.Compute/skus?api-version=2021-07-01`,
  )
  const items: unknown[] = []
  const filter = encodeURIComponent(`armRegionName eq '${azureIds.location}'`)
  for (let next: string | null = `/api/retail/prices?$filter=${filter}`; next !== null; ) {
    const page = JSON.parse(await get(next)) as { readonly Items: unknown[]; readonly NextPageLink: string | null }
    items.push(...page.Items)
    next = page.NextPageLink === null ? null : page.NextPageLink.replace(/^https:\/\/[^/]*/, '')
  }
  return [skus, JSON.stringify({ Items: items })]
}

/** Does something with texts as files, which are there for as long. */
async function inFiles<K extends string>(
  texts: Readonly<Record<K, string>>,
  use: (files: Readonly<Record<K, string>>) => Promise<string>,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'joiner-prices-'))
  try {
    const files = Object.entries<string>(texts).map(([name, text]) => {
      const file = join(folder, `${name}.json`)
      writeFileSync(file, text)
      return [name, file]
    })
    return await use(Object.fromEntries(files) as Record<K, string>)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A pod as it was before it had a node. */
function unbound(pod: Record<string, unknown>): Record<string, unknown> {
  const { nodeName: _, ...spec } = pod['spec'] as Record<string, unknown>
  const { status: __, ...rest } = pod
  return { ...rest, spec }
}
