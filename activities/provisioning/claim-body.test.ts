import { expect, test } from 'vitest'
import { samplePool } from '../../test/samples/sample-objects.ts'
import { claimBody } from './claim-body.ts'

test('a NodeClaim gets the annotations of the template, but none that only its own life may give it', () => {
  const given = {
    team: 'blue',
    'karpenter.sh/do-not-disrupt': 'true',
    // It would stand for a machine of others, be left alone, and be planned again without end.
    'karpenter.azure.com/aks-machine-resource-id': 'x',
    'joiner.sh/adopted-machine': 'x',
    'joiner.sh/disruption-command': 'x',
    'joiner.sh/capacity-reservation-group': 'x',
    'karpenter.sh/nodeclaim-termination-timestamp': '2020-01-01T00:00:00Z',
  }
  const pool = samplePool('default')
  const planned = { nodePool: 'default', labels: {}, requirements: [], requests: {}, pods: [], instanceTypes: [] }
  const body = claimBody({ ...pool, template: { ...pool.template, annotations: given } }, planned as never, {
    name: 'a',
    annotations: { 'joiner.sh/planned-pods': '2' },
  })
  expect(Object.keys((body['metadata'] as { annotations: object }).annotations)).toEqual([
    'team',
    'karpenter.sh/do-not-disrupt',
    'karpenter.sh/nodeclaim-min-values-relaxed',
    'joiner.sh/planned-pods',
  ])
})
