import { expect, test } from 'vitest'
import { decodeNodeClass } from '../../../activities/kubernetes/cache/decode.ts'
import { doctorConfig } from '../../../test/fakes/azure-config.ts'
import { nodeClassJson } from '../../../test/fakes/objects.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import type { Pools } from '../shared/buyable.ts'
import { examineActions } from './azure-roles.ts'
import type { DoctorContext } from './check.ts'

const subscription = '00000000-0000-4000-8000-000000000001'
const group = (name: string) =>
  `/subscriptions/${subscription}/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/${name}`
const classOf = (name: string, groups: readonly string[]) =>
  decodeNodeClass(
    nodeClassJson(name, { metadata: { annotations: { 'joiner.sh/capacity-reservation-groups': groups.join() } } }),
  )

/** Looks at roles; `answer` is what ARM says of the permissions on a capacity reservation group. All else is allowed. */
async function look(pools: () => Promise<Pools>, answer: () => readonly object[]) {
  const config = doctorConfig(subscription, {
    NODE_IDENTITIES: `/subscriptions/${subscription}/resourceGroups/MC_demo/providers/Microsoft.ManagedIdentity/userAssignedIdentities/agentpool`,
  })
  const asked: string[] = []
  const list = async (path: string) => {
    asked.push(path)
    return path.includes('capacityReservationGroups') ? answer() : [{ actions: ['*'] }]
  }
  const context = {
    config,
    cloud: { isKnown: true },
    identity: { settings: { clientId: 'client' } },
    owner: Promise.resolve(undefined),
    arm: { list },
    pools,
  } as unknown as DoctorContext
  const finding = await examineActions(context, new AbortController().signal)
  return { finding, asked: asked.filter((path) => path.includes('capacityReservationGroups')) }
}

const refused = (status: number, code: string) => () => {
  throw new ArmRefusal(status, code, 'no')
}
const oneGroup = async () => ({ nodePools: [], nodeClasses: [classOf('default', [group('one')])] })

test.each([
  ['allows it', () => [{ actions: ['*'] }], 'ok'],
  ['knows no such group', refused(404, 'ResourceNotFound'), 'ok'],
  ['does not even let it ask', refused(403, 'AuthorizationFailed'), 'fail'],
  ['allows something else', () => [{ actions: ['*/read'] }], 'fail'],
  ['says something odd', refused(500, 'SomeRandomError'), 'warn'],
])('on a group where Azure %s: %s', async (_what, answer, status) => {
  const { finding } = await look(oneGroup, answer)
  expect(finding.status).toBe(status)
  if (status === 'fail') expect(finding.remedies?.join()).toContain(`--scope "${group('one')}"`)
  if (status === 'warn') expect(finding.details?.join()).toContain(`${group('one')}: `)
})

test('however many groups AKSNodeClasses name, as many are asked for as Joiner reads, each once', async () => {
  const named = (at: number) => Array.from({ length: 8 }, (_, one) => group(`g${at}-${one}`))
  const nodeClasses = Array.from({ length: 300 }, (_, at) => classOf(`c${at}`, named(at >> 1)))
  const { asked, finding } = await look(
    async () => ({ nodePools: [], nodeClasses }),
    () => [{ actions: ['*'] }],
  )
  expect([asked.length, new Set(asked).size, finding.status]).toEqual([32, 32, 'ok'])
})

test('a Kubernetes that does not answer hides no role', async () => {
  const { finding } = await look(
    () => Promise.reject(new Error('connection refused')),
    () => [],
  )
  expect(finding.status).toBe('ok')
})
