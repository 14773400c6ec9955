import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool, World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  const pool = nodePool({ consolidateAfter: 'Never' })
  const spec = { ...pool.spec.template.spec, terminationGracePeriod: '20s' }
  await world.apply({ ...pool, spec: { ...pool.spec, template: { spec } } }, nodeClass(), deployment())
  await world.untilReady('general')
})

afterAll(() => world?.stop())

/** Brings up one pod on one node and asks for the NodeClaim's deletion. Returns the node's name. */
async function deleteUsedClaim(): Promise<string> {
  const [claim] = await world.list('nodeclaims')
  await world.operator.kubectl(['delete', 'nodeclaim', claim?.metadata.name ?? '', '--wait=false'])
  return `aks-${claim?.metadata.name}`
}

async function condition(type: string) {
  const claims = await world.list('nodeclaims')
  return claims
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .flatMap(({ status }) => status?.conditions ?? [])
    .find((found) => found.type === type)
}

const vmExists = async (name: string) => (await world.azure()).virtualMachines.some((vm) => vm.name === name)

test('a volume that is still attached holds up the deletion of the VM, and the NodeClaim says so', async () => {
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [node] = await world.list('nodes')
  await world.apply({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: 'attached' },
    spec: { attacher: 'disk.csi.azure.com', nodeName: node?.metadata.name, source: { persistentVolumeName: 'data' } },
  })
  const name = await deleteUsedClaim()
  const waiting = await world.until('the wait is told', async () => {
    const found = await condition('VolumesDetached')
    return found?.status === 'Unknown' && found
  })
  expect(waiting.reason).toBe('AwaitingVolumeDetachment')
  expect(waiting.message).toContain('attached')
  expect(await vmExists(name)).toBe(true)
  await world.operator.kubectl(['delete', 'volumeattachment', 'attached'])
  await world.until('the VM is gone', async () => !(await vmExists(name)))
  await world.untilRunning(1)
})

test('a budget that allows nothing holds a pod until the terminationGracePeriod is over, and not longer', async () => {
  await world.apply({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'inflate', namespace: 'default' },
    spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
  })
  await world.untilRunning(1)
  const startedAt = Date.now()
  const name = await deleteUsedClaim()
  const waiting = await world.until('the wait is told', async () => {
    const found = await condition('Drained')
    return found?.message.includes('PDB') && found
  })
  expect(waiting.status).toBe('Unknown')
  await world.until('the VM is gone', async () => !(await vmExists(name)))
  expect(Date.now() - startedAt).toBeGreaterThan(15_000)
  await world.until('nothing of the node is left', async () =>
    (await world.list('nodes')).every(({ metadata }) => metadata.name !== name),
  )
  await world.untilRunning(1)
})
