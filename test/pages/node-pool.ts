// A node pool of AKS, which the simulated Azure has not, beside the nodes of Joiner.
import type { World } from '../world.ts'

/** A Node of a node pool of AKS: the simulated one has no node pools. */
export async function joinPool(world: World, agentpool: string): Promise<void> {
  const resources = { cpu: '8', memory: '16Gi', pods: '50' }
  const labels = {
    agentpool,
    'kubernetes.io/hostname': `${agentpool}-0`,
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
  }
  await world.operator.api('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `${agentpool}-0`, annotations: { 'kwok.x-k8s.io/node': 'fake' }, labels },
    status: { allocatable: resources, capacity: resources },
  })
}

/** Waits until both pods of the Deployment `old` run, on the node of that pool or elsewhere. Errors: they do not. */
export async function untilOldRuns(world: World, where: 'on' | 'off', agentpool: string): Promise<void> {
  await world.until(`they run ${where} ${agentpool}`, async () => {
    const pods = (await world.list('pods')).filter(({ metadata }) => metadata.labels?.['app'] === 'old')
    return (
      pods.length === 2 &&
      pods.every(
        ({ spec, status }) => status?.phase === 'Running' && (spec.nodeName === `${agentpool}-0`) === (where === 'on'),
      )
    )
  })
}
