import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { labels } from '../../core/requirements/labels.ts'
import { parseResources } from '../../core/resources.ts'
import { sampleClaim } from '../../test/samples/sample-objects.ts'
import { milestones } from './milestones.ts'

const claim = sampleClaim('aks-general-1', {
  metadata: {
    labels: {
      [labels.nodePool]: 'general',
      [labels.instanceType]: 'Standard_D2s_v5',
      [labels.zone]: 'westus2-1',
      [labels.capacityType]: 'spot',
    },
  },
})

function lines(work: (log: pino.Logger) => void) {
  const written: Record<string, unknown>[] = []
  work(pino({ base: null, timestamp: false }, { write: (line: string) => written.push(JSON.parse(line)) }))
  return written
}

describe('milestones', () => {
  test("have Karpenter's messages and fields", () => {
    const types = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    const planned = { nodePool: 'general', instanceTypes: types, requests: parseResources({ cpu: '1' }) }
    const found = lines((log) => {
      milestones.created(log, claim, planned as unknown as Parameters<typeof milestones.created>[2])
      milestones.launched(log, claim)
      milestones.registered(log, claim)
      milestones.deleted(log, claim)
    })
    expect(found).toMatchObject([
      {
        msg: 'created nodeclaim',
        NodePool: { name: 'general' },
        NodeClaim: { name: 'aks-general-1-claim' },
        requests: { cpu: '1' },
        'instance-types': 'a, b, c, d, e and 2 other(s)',
      },
      {
        msg: 'launched nodeclaim',
        'provider-id': 'azure:///aks-general-1',
        'instance-type': 'Standard_D2s_v5',
        zone: 'westus2-1',
        'capacity-type': 'spot',
      },
      { msg: 'registered nodeclaim', NodeClaim: { name: 'aks-general-1-claim' }, Node: { name: 'aks-general-1' } },
      { msg: 'deleted nodeclaim', Node: { name: 'aks-general-1' }, NodePool: { name: 'general' } },
    ])
  })

  test('name no NodePool and no Node where there is none', () => {
    const { nodeName: _, ...status } = sampleClaim('lonely').status
    const lonely = { ...sampleClaim('lonely', { metadata: { labels: {} } }), status }
    const [line] = lines((log) => milestones.deleted(log, lonely))
    expect(line).not.toHaveProperty('NodePool')
    expect(line).not.toHaveProperty('Node')
  })
})
