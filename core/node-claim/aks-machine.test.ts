import { describe, expect, it } from 'vitest'
import { sampleClaim } from '../../test/samples/sample-objects.ts'
import { isAdopted, isAksMachine, parseAksMachineId } from './aks-machine.ts'

const id =
  '/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c/agentPools/p/machines/m'
const machine = { 'karpenter.azure.com/aks-machine-resource-id': id }

function claim(annotations: Readonly<Record<string, string>>, vm = 'aks-p-m-12345678-vm') {
  const providerId = `azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/${vm}`
  return sampleClaim('n', { metadata: { name: 'm', uid: 'u', annotations }, status: { providerId } })
}

describe('a NodeClaim of an AKS machine', () => {
  it.each<[string, ReturnType<typeof claim>, boolean, boolean]>([
    ['without the annotation', claim({}), false, false],
    ['with it', claim(machine), true, false],
    ['with the name that Joiner gives a VM', claim(machine, 'aks-m'), false, false],
    ['adopted', claim({ ...machine, 'joiner.sh/adopted-machine': 'u' }), true, true],
    ['as a copy of an adopted one', claim({ ...machine, 'joiner.sh/adopted-machine': 'other' }), true, false],
    ['of Joiner, called adopted', claim({ 'joiner.sh/adopted-machine': 'u' }), false, false],
  ])('%s', (_what, one, is, adopted) => {
    expect([isAksMachine(one), isAdopted(one)]).toEqual([is, adopted])
  })
})

describe('the id of a machine', () => {
  it('is read by its parts, in any case', () => {
    const parts = { subscriptionId: 's', resourceGroup: 'g', cluster: 'c', pool: 'p', name: 'm' }
    expect(parseAksMachineId(id)).toEqual(parts)
    expect(parseAksMachineId(id.toLowerCase())).toEqual(parts)
  })

  // What an annotation says becomes the path of a request, and a part of a command for operators.
  it.each(['..', 'a?b', 'a#b', 'a\\..\\b', '$(x)', 'a;b', 'a\nb', '-a', 'a'.repeat(64)])(
    'has no machine %j',
    (name) => {
      expect(parseAksMachineId(id.replace(/m$/, () => name))).toBeUndefined()
    },
  )

  it.each(['..', 'p?', 'p$(x)', '1p', 'p'.repeat(13)])('has no pool %j', (pool) => {
    expect(parseAksMachineId(id.replace('/agentPools/p/', () => `/agentPools/${pool}/`))).toBeUndefined()
  })

  it.each(['', 'm', id.replace('/machines/m', ''), `${id}/x`, id.replace('agentPools', 'pools')])(
    'is not %j',
    (text) => {
      expect(parseAksMachineId(text)).toBeUndefined()
    },
  )
})
