import { expect, test } from 'vitest'
import { claimJson, nodeJson } from '../../../test/fakes/objects.ts'
import { nodesFinding } from './nodes.ts'

const evil = nodeJson('a', { metadata: { name: 'evil', uid: 'evil', ownerReferences: [] } })

test.each<[string, ReturnType<typeof nodesFinding>, 'ok' | 'warn', RegExp]>([
  ['each its own', nodesFinding([nodeJson('a')], [claimJson('a')]), 'ok', /^$/],
  [
    'a Node that poses as another',
    nodesFinding([nodeJson('a'), evil], [claimJson('a')]),
    'warn',
    /Node evil: spec.providerID.*NodeClaim a$/,
  ],
  ['a NodeClaim without its Node', nodesFinding([], [claimJson('a')]), 'warn', /^NodeClaim a: /],
  [
    'one that is being deleted',
    nodesFinding([], [claimJson('a', { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })]),
    'ok',
    /^$/,
  ],
])('%s', (_, { status, details = [] }, expected, detail) => {
  expect(status).toBe(expected)
  expect(details.join('\n')).toMatch(detail)
})
