import { fileURLToPath } from 'node:url'
import { waitingMapName } from '../../../core/scheduling/explain/waiting-classes.ts'
import { namespace } from '../installation-accounts.ts'
import type { LeftWorld } from './shell.ts'
import type { Stage } from './stage.ts'

const manifest = fileURLToPath(new URL('./world.yaml', import.meta.url))
/** What Joiner would buy first for these pods. */
const refusedSize = 'Standard_D2as_v5'
const shopNodes = 4

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly labels: { readonly app: string } }
    readonly spec: { readonly nodeName?: string }
    readonly status: { readonly phase: string }
  }[]
}

/** Makes what a person can look at afterwards: five nodes, a pod too big for any, a drain that does not end, and a size that Azure refuses. */
export async function leaveWorld(stage: Stage): Promise<LeftWorld> {
  const { operator } = stage
  await operator.simulator('POST', '/faults', {
    kind: 'failSync',
    code: 'SkuNotAvailable',
    match: { sku: refusedSize },
    count: 1_000_000,
  })
  await operator.kubectl(['apply', '--server-side', '-f', manifest])
  stage.say(`applied the namespace shop; from now on Azure refuses ${refusedSize}`)
  const pods = async () => (await operator.api<PodList>('GET', '/api/v1/namespaces/shop/pods')).items
  const running = async () => (await pods()).filter(({ status }) => status.phase === 'Running')
  await stage.until(
    `${shopNodes} pods run, each on a node of its own, of the next size after the refused one`,
    async () => {
      const hits = await operator.simulator<{ readonly failSync?: number }>('GET', '/faults/hits')
      return (await running()).length === shopNodes && hits.failSync !== undefined
    },
  )
  const tooBig = (await pods()).find(({ metadata }) => metadata.labels.app === 'train')?.metadata.name ?? ''
  const draining = (await running()).find(({ metadata }) => metadata.labels.app === 'checkout')?.spec.nodeName ?? ''
  await operator.kubectl(['delete', 'node', draining, '--wait=false'])
  stage.say(`kubectl delete node ${draining}`)
  await stage.until('a fifth node is ready for its pod; PodDisruptionBudget checkout blocks the eviction', async () => {
    const ready = await operator.kubectl(['get', 'nodes', '--no-headers'])
    const said = await operator.kubectl([
      'get',
      'events',
      '-A',
      '--field-selector',
      'reason=FailedDraining',
      '-o',
      'name',
    ])
    return ready.match(/ Ready/g)?.length === shopNodes + 1 && said !== ''
  })
  await stage.until('Joiner knows why the pod that is too big waits', async () =>
    (await operator.kubectl(['get', 'configmap', waitingMapName, '-n', namespace, '-o', 'yaml'])).includes(tooBig),
  )
  await stage.reportNodes()
  return { tooBig: `shop/${tooBig}`, draining }
}
