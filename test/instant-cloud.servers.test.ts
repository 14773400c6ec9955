// The cloud that some benchmarks ask for: a VM is a Node at once, by the operator's hand.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { azureIds } from '../deploy/local/cluster.ts'
import { standaloneClaim } from './applied-objects.ts'
import { isTrue, World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  await world.startWithNodeClass()
})

afterAll(() => world?.stop())

test('a VM becomes a Node without a certificate, and falls silent with its VM', async () => {
  await world.apply(standaloneClaim('one', { taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] }))
  await world.until('the NodeClaim is initialized', async () =>
    (await world.list('nodeclaims')).some((claim) => isTrue(claim, 'Initialized')),
  )

  const { metadata, spec } = (await world.list('nodes'))[0] as unknown as Node
  expect(metadata.name).toBe('aks-one')
  expect(metadata.labels).toMatchObject({
    'kubernetes.io/hostname': 'aks-one',
    'kubernetes.azure.com/cluster': azureIds.nodeResourceGroup,
    'karpenter.azure.com/sku-family': 'D',
    'topology.kubernetes.io/region': 'westus2',
  })
  expect(spec.taints).toContainEqual({ key: 'team', value: 'a', effect: 'NoSchedule' })
  expect(spec.providerID).toMatch(/^azure:\/\/\/subscriptions\/.*\/virtualMachines\/aks-one$/)
  const requests = await world.operator.api<{ items: readonly unknown[] }>(
    'GET',
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
  )
  expect(requests.items).toEqual([])

  await world.operator.simulator('POST', '/vms/aks-one/stop')
  await world.untilSilent('aks-one')
  await world.operator.api('DELETE', '/apis/karpenter.sh/v1/nodeclaims/one')
  await world.untilNothingLeft()
})

interface Node {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly spec: { readonly providerID: string; readonly taints: readonly unknown[] }
}
