import { describe, expect, test } from 'vitest'
import { nothingReported } from '../../../core/node-claim/drain-waits.ts'
import { guarded, world } from '../../../test/fakes/drain-world.ts'
import { attachmentJson, condition, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../client/answers.ts'
import { ApiError } from '../client/api-error.ts'

useFakeTime()

describe('volumes', () => {
  test('that are attached keep the VM until they are detached', async () => {
    const { cluster, drain, conditions, reported } = world({ attachments: [attachmentJson('disk', 'a', 'pv-1')] })
    const work = drain()
    await pass(20_000)
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=Unknown'])
    expect(reported.find(({ reason }) => reason === 'AwaitingVolumeDetachment')?.message).toContain(
      'PersistentVolume pv-1',
    )
    cluster.remove('volumeattachments', 'disk')
    expect(await ended(work)).toEqual({ kind: 'drained', pods: 0 })
    expect(conditions()).toEqual(['Drained=True', 'VolumesDetached=True'])
  })

  test.each<[string, Json, readonly Json[], boolean]>([
    ['of another node', attachmentJson('disk', 'b'), [], false],
    [
      'that names no persistent volume',
      { ...attachmentJson('disk', 'a'), spec: { nodeName: 'aks-a', source: {} } },
      [],
      false,
    ],
    ['of a pod that stays on the node', attachmentJson('disk', 'a', 'pv-stays'), [stayingPod()], false],
    [
      'of a pod that stays on the node, another claim of which is gone',
      attachmentJson('disk', 'a', 'pv-stays'),
      [stayingPod(['gone', 'data'])],
      false,
    ],
    [
      'of a pod that has ended and does not stay',
      attachmentJson('disk', 'a', 'pv-stays'),
      [
        {
          ...stayingPod(),
          spec: { ...(stayingPod()['spec'] as Json), tolerations: [] },
          status: { phase: 'Succeeded' },
        },
      ],
      true,
    ],
    ['of a pod that leaves', attachmentJson('disk', 'a', 'pv-other'), [stayingPod()], true],
  ])('%s', async (_, attachment, pods, isAwaited) => {
    const { cluster, drain, conditions, stop } = world({ attachments: [attachment], pods })
    cluster.put('persistentvolumeclaims', {
      metadata: { name: 'data', namespace: 'default' },
      spec: { volumeName: 'pv-stays' },
    })
    const work = drain().catch(() => {})
    await pass(60_000)
    stop.abort()
    await work
    expect(conditions()).toEqual(['Drained=True', `VolumesDetached=${isAwaited ? 'Unknown' : 'True'}`])
  })

  function stayingPod(claims: readonly string[] = ['data']): Json {
    const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }))
    return podJson('stays', 'a', { spec: { tolerations: [{ operator: 'Exists' }], volumes } })
  }

  test('of a claim that cannot be read do not count as detached', async () => {
    const { cluster, drain } = world({ attachments: [attachmentJson('disk', 'a')], pods: [stayingPod()] })
    cluster.intercept(({ path }) => {
      if (path.includes('persistentvolumeclaims')) throw new ApiError(503, 'ServiceUnavailable', 'away')
    })
    await expect(ended(drain())).rejects.toThrow('away')
  })
})

describe('a Node that is not ready', () => {
  const silent = [nodeJson('a', { status: { conditions: [condition('Ready', 'Unknown')] } })]

  test('is left untouched until the lifecycle has checked whether its VM exists', async () => {
    const { cluster, drain, taints } = world({ nodes: silent, pods: [podJson('web', 'a')] })
    expect(await drain(nothingReported)).toEqual({ kind: 'notReady' })
    expect(taints()).toEqual([])
    expect(cluster.names('pods')).toEqual(['web'])
  })

  test.each([
    ['1', 1, 10_000],
    ['3', 3, 40_000],
  ])('after %s looks is drained, and the next look is due later', async (_, vmLooks, dueMs) => {
    const { drain } = world({ nodes: silent, pods: [podJson('web', 'a', { metadata: guarded })] })
    const reports = 100
    const startedAt = Date.now()
    expect(await ended(drain({ ...nothingReported, vmLooks, reports }))).toEqual({ kind: 'notReady' })
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(dueMs)
    expect(Date.now() - startedAt).toBeLessThan(dueMs + 2000)
  })

  test('is drained like any other for a lifecycle that does not listen', async () => {
    const { drain } = world({ nodes: silent, pods: [podJson('web', 'a')] })
    expect(await ended(drain())).toEqual({ kind: 'drained', pods: 1 })
  })
})
