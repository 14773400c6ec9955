import { expect, test } from 'vitest'
import { leftOutOf } from '../../../core/node-claim/left-out.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { parseResources } from '../../../core/resources.ts'
import type { PlannedNodeClaim } from '../../../core/scheduling/snapshot.ts'
import { newClaim, world } from '../../../test/fakes/launch-world.ts'
import { poolJson } from '../../../test/fakes/objects.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import { leftOutAnnotationOf } from './left-out-sizes.ts'

useFakeTime()

const planned = (cpu: string, types: readonly string[], specs: Parameters<typeof requirements>[0] = []) =>
  ({
    nodePool: 'default',
    wanted: requirements(specs),
    requests: parseResources({ cpu }),
    instanceTypes: types,
  }) as unknown as PlannedNodeClaim

test('a plan names the sizes that it left out because Azure had refused them, the cheapest first', async () => {
  const { cluster, deps } = world(newClaim())
  cluster.put('nodepools', poolJson('default'))
  await pass(0)
  const named = (plan: PlannedNodeClaim) =>
    leftOutOf({ metadata: { annotations: leftOutAnnotationOf(deps, plan) } as never })
  expect(leftOutAnnotationOf(deps, planned('1', ['Standard_D8s_v5']))).toEqual({})
  const cause = { reason: 'SizeRefused', cause: 'no', nodeClass: 'default' }
  for (const vCpus of [4, 2, 64]) await deps.unavailable.markSize({ ...cause, instanceType: `Standard_D${vCpus}s_v5` })
  expect([...named(planned('1', ['Standard_D8s_v5']))]).toEqual(['Standard_D2s_v5', 'Standard_D4s_v5'])
  // What is too small was not left out, nor what the plan names, nor what its pods do not want.
  expect([...named(planned('3', ['Standard_D8s_v5']))]).toEqual(['Standard_D4s_v5'])
  expect([...named(planned('1', ['Standard_D2s_v5']))]).toEqual(['Standard_D4s_v5'])
  const wanted = [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D8s_v5'] }] as const
  expect([...named(planned('1', ['Standard_D8s_v5'], wanted))]).toEqual([])
})
