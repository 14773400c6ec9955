import { expect, test } from 'vitest'
import { MissingRights, refusedRight } from './missing-right.ts'

const user = 'User "system:serviceaccount:joiner:joiner" cannot'

test.each([
  [
    `GET /api/v1/nodes: 403 nodes is forbidden: ${user} watch resource "nodes" in API group "" at the cluster scope`,
    { verb: 'watch', resource: 'nodes', group: '' },
  ],
  [
    `leases.coordination.k8s.io "joiner-bridge" is forbidden: ${user} get resource "leases" in API group "coordination.k8s.io" in the namespace "joiner"`,
    { name: 'joiner-bridge', verb: 'get', resource: 'leases', group: 'coordination.k8s.io', namespace: 'joiner' },
  ],
  [
    `nodepools.karpenter.sh "general" is forbidden: ${user} patch resource "nodepools/status" in API group "karpenter.sh" at the cluster scope: RBAC: [clusterrole.rbac.authorization.k8s.io "joiner-core" not found]`,
    { name: 'general', verb: 'patch', resource: 'nodepools', subresource: 'status', group: 'karpenter.sh' },
  ],
  ['events "a" is forbidden: unable to create new content in namespace a because it is being terminated', undefined],
])('%s', (message, right) => {
  expect(refusedRight(message)).toEqual(right)
})

const refusal = `nodes is forbidden: ${user} list resource "nodes" in API group "" at the cluster scope`

test.each<[string, readonly (boolean | Error)[], number]>([
  ['that is missing is reported', [false, false], 1],
  ['that an API server knew nothing of at its start is not reported', [false, true], 0],
  ['of which the API server says nothing is not reported', [new Error('403')], 0],
])('a right %s', async (_, answers, times) => {
  const asked: unknown[] = []
  const create = async (_path: string, body: unknown) => {
    const answer = answers[asked.push(body) - 1]
    if (typeof answer !== 'boolean') throw answer
    return { status: { allowed: answer } }
  }
  const reported: string[] = []
  const rights = new MissingRights({ create }, (reason) => void reported.push(reason), [1, 1])
  for (let again = 0; again < 3; again++) rights.refused(refusal)
  await expect.poll(() => asked.length, { timeout: 10_000 }).toBe(answers.length)
  await expect.poll(() => reported).toEqual(Array(times).fill(refusal))
  expect(asked[0]).toMatchObject({ spec: { resourceAttributes: { verb: 'list', resource: 'nodes', group: '' } } })
})
