import { describe, expect, test } from 'vitest'
import type { CommandRepair } from '../../../core/disruption/command.ts'
import { free, marksOf, proposal, world } from '../../../test/fakes/commit-world.ts'
import { at, condition } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { memoryOf } from '../memory.ts'

useFakeTime()

const bound = 'karpenter.sh/reboot-termination-grace-period'
const unbounded: CommandRepair = { condition: 'Hung', why: 'KernelHung', action: 'RebootNode' }

async function rebootWorld(repair: CommandRepair = { ...unbounded, boundMs: 90_000 }) {
  const known = await world()
  known.plan.replacements = []
  known.plan.repair = repair
  const proposed = proposal(['a'], {
    id: 'repair-0123456789-01234567',
    method: 'repair',
    reason: 'Unhealthy',
    decision: 'reboot',
    replacements: 0,
    repair,
  })
  return {
    ...known,
    reboot: async (attempt = 1) => (await known.commit([proposed], attempt))[0],
    claim: () => known.cluster.object('nodeclaims', 'a'),
    rebooting: () =>
      known.cluster.object('nodeclaims', 'a')?.status.conditions.find(({ type }) => type === 'Rebooting'),
  }
}

describe('a reboot', () => {
  test('is handed over to the lifecycle: condition, reason and bound, but neither taint nor stamp', async () => {
    const { cluster, reboot, claim, rebooting } = await rebootWorld()
    expect(await reboot()).toEqual({ kind: 'handedOver' })
    expect(marksOf(cluster)).toEqual({ ...free, a: 'Unhealthy' })
    expect(claim()?.metadata.annotations).toMatchObject({ [bound]: '90s' })
    expect(rebooting()).toMatchObject({
      status: 'True',
      reason: 'RebootRequested',
      message: 'rebooting for Hung/KernelHung',
    })
  })

  test('without a bound removes that of an earlier one, and its traces', async () => {
    const { cluster, reboot, claim } = await rebootWorld(unbounded)
    const traces = { [bound]: '1s', 'joiner.sh/reboot-request': at(-9), 'karpenter.sh/reboot-pre-boot-id': 'old' }
    cluster.edit('nodeclaims', 'a', { metadata: { annotations: traces } })
    expect(await reboot()).toEqual({ kind: 'handedOver' })
    for (const key of Object.keys(traces)) expect(claim()?.metadata.annotations).not.toHaveProperty([key])
  })

  test('that is under way keeps its phase and what it recorded', async () => {
    const { cluster, reboot, claim, rebooting } = await rebootWorld()
    const traces = { 'joiner.sh/reboot-request': at(-9), 'karpenter.sh/reboot-pre-boot-id': 'old' }
    cluster.edit('nodeclaims', 'a', {
      metadata: { annotations: traces },
      status: { conditions: [condition('Rebooting', 'True', 0, 'RebootIssued')] },
    })
    expect(await reboot()).toEqual({ kind: 'handedOver' })
    expect(claim()?.metadata.annotations).toMatchObject(traces)
    expect(rebooting()).toMatchObject({ reason: 'RebootIssued' })
  })

  test('of a claim that is being deleted is refused', async () => {
    const { cluster, reboot, rebooting } = await rebootWorld()
    cluster.edit('nodeclaims', 'a', { metadata: { deletionTimestamp: at(0) } })
    expect(await reboot()).toMatchObject({ kind: 'rejected' })
    expect(rebooting()).toBeUndefined()
  })

  test.each<[string, boolean, string]>([
    ['was requested', true, 'handedOver'],
    ['was not', false, 'rejected'],
  ])('that %s before a crash is not requested again', async (_, isRequested, kind) => {
    const { cluster, deps, reboot } = await rebootWorld()
    const conditions = isRequested ? [condition('Rebooting', 'True', 0, 'RebootRequested')] : []
    cluster.edit('nodeclaims', 'a', { status: { conditions } })
    const before = cluster.object('nodeclaims', 'a')
    expect(await reboot(2)).toMatchObject({ kind })
    expect(cluster.object('nodeclaims', 'a')).toEqual(before)
    // Proposed again at once, it would keep all other commands waiting for ever where the API server refuses it.
    expect(memoryOf(deps).resting().nodeClaims).toEqual(isRequested ? [] : ['a'])
  })
})
