// What suites ask an API server about old versions of NodePool and NodeClaim, and apply in them.
import type { World } from '../world.ts'

export type Json = Readonly<Record<string, unknown>>

export interface Crd extends Json {
  readonly spec: Json & {
    readonly conversion: {
      readonly webhook: {
        readonly clientConfig: {
          readonly caBundle?: string
          readonly service?: { readonly namespace: string; readonly path?: string }
        }
      }
    }
    readonly versions: readonly { readonly name: string; readonly served: boolean }[]
  }
  readonly status: { readonly storedVersions: readonly string[] }
}

export const plurals = ['nodepools', 'nodeclaims'] as const
type Plural = (typeof plurals)[number]

export const crdPath = (plural: Plural) =>
  `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.karpenter.sh`
export const pathOf = (plural: Plural, version: string, name?: string) =>
  `/apis/karpenter.sh/${version}/${plural}${name === undefined ? '' : `/${name}`}`

const requirements = [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }]
const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }

export const oldPool = (expireAfter: string, metadata: Json = { name: 'old' }) => ({
  apiVersion: 'karpenter.sh/v1beta1',
  kind: 'NodePool',
  metadata,
  spec: {
    disruption: { consolidationPolicy: 'WhenUnderutilized', expireAfter },
    template: { spec: { nodeClassRef: { name: 'default' }, kubelet: { maxPods: 42 }, requirements } },
  },
})

export const claim = (name: string) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name },
  spec: { nodeClassRef, requirements },
})

export const crdOf = (world: World, plural: Plural) => world.operator.api<Crd>('GET', crdPath(plural))

/** The certificates by which the API server knows the webhook, of both CRDs. */
export const bundles = (world: World) =>
  Promise.all(
    plurals.map(async (plural) => {
      const { caBundle = '' } = (await crdOf(world, plural)).spec.conversion.webhook.clientConfig
      return Buffer.from(caBundle, 'base64').toString()
    }),
  )

/** Has one object converted, whatever the API server has in its caches. */
export const convertsOne = (world: World) =>
  world.operator.api('POST', `${pathOf('nodepools', 'v1beta1')}?dryRun=All`, oldPool('Never', { name: 'probe' }))

export async function untilConverted(world: World): Promise<void> {
  await world.until('the API server trusts the webhook', async () => (await bundles(world)).every((pem) => pem !== ''))
  await world.until('an old version is accepted', () => convertsOne(world))
}

/** How often the API server has called the webhook for a kind since it started. */
export async function callsFor(world: World, plural: Plural): Promise<number> {
  const text = await world.operator.kubectl(['get', '--raw', '/metrics'])
  const counts = text
    .split('\n')
    .filter((line) => line.startsWith('apiserver_crd_conversion_webhook_duration_seconds_count{'))
    .filter((line) => line.includes(`crd_name="${plural}.karpenter.sh"`))
  return counts.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** Creates claims in v1, changes them and writes their status. */
export async function writeClaims(world: World, prefix: string, count: number): Promise<void> {
  const path = pathOf('nodeclaims', 'v1')
  for (let index = 0; index < count; index++) {
    const name = `${prefix}-${index}`
    await world.operator.api('POST', path, claim(name))
    await world.operator.api('PATCH', `${path}/${name}`, { metadata: { labels: { 'example.com/a': 'b' } } })
    await world.operator.api('PATCH', `${path}/${name}/status`, { status: { nodeName: name } })
  }
}
