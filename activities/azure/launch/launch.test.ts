import { describe, expect, test } from 'vitest'
import { inValues, newClaim, onDemand, plant, secretName, tagsOf, world } from '../../../test/fakes/launch-world.ts'
import { at, claimJson, condition, goingClaim, nodeClassJson, nodeJson } from '../../../test/fakes/objects.ts'
import { ended, tellAhead, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import type { ServerTime } from '../../kubernetes/client/server-time.ts'
import type { LaunchOutcome } from '../contract.ts'

useFakeTime()

describe('a launch', () => {
  test('makes the cheapest VM that fits, and records it in the claim', async () => {
    const { azure, cluster, launch, launched, tokens } = world()
    const outcome = (await launch()) as LaunchOutcome & { kind: 'launched' }
    expect(outcome).toMatchObject({ kind: 'launched', instanceType: 'Standard_D2s_v5', capacityType: 'on-demand' })
    expect(azure.names('virtualMachines')).toEqual(['aks-a'])
    expect(azure.get('virtualMachines', 'aks-a')?.tags).toEqual({
      ...tagsOf('uid-a'),
      'joiner.sh_bootstrap-token-uid': cluster.object('secrets', secretName, 'kube-system')?.metadata.uid,
    })
    const claim = cluster.object('nodeclaims', 'a')
    expect(claim?.metadata.labels).toMatchObject({
      'node.kubernetes.io/instance-type': 'Standard_D2s_v5',
      'topology.kubernetes.io/zone': outcome.zone,
      'karpenter.sh/capacity-type': 'on-demand',
      'karpenter.sh/nodepool': 'default',
    })
    expect(claim?.status).toMatchObject({ providerID: outcome.providerId, imageID: outcome.imageId })
    expect(launched()).toMatchObject({ status: 'True' })
    expect(tokens()).toEqual([secretName])
  })

  test.each<[string, readonly Json[], Json, string]>([
    ['spot where it may', [], { cpu: '1' }, 'Standard_D2s_v5 spot'],
    ['a larger size for larger pods', onDemand, { cpu: '3' }, 'Standard_D4s_v5 on-demand'],
    [
      'the type that the plan names',
      [inValues('node.kubernetes.io/instance-type', 'Standard_D8s_v5'), ...onDemand],
      { cpu: '1' },
      'Standard_D8s_v5 on-demand',
    ],
    [
      'nothing smaller than minimum cores',
      [{ key: 'karpenter.azure.com/sku-cpu', operator: 'Gt', values: ['4'] }],
      { cpu: '1' },
      'Standard_D8s_v5 spot',
    ],
  ])('takes %s', async (_, requirements, requests, what) => {
    const { launch } = world(newClaim({ requirements, resources: { requests } }))
    const outcome = (await launch()) as LaunchOutcome & { kind: 'launched' }
    expect(`${outcome.instanceType} ${outcome.capacityType}`).toBe(what)
  })

  test('stays in the zone that the claim names', async () => {
    const { azure, launch } = world(
      newClaim({ requirements: [...onDemand, inValues('topology.kubernetes.io/zone', 'westus2-2')] }),
    )
    expect(await launch()).toMatchObject({ zone: 'westus2-2' })
    expect(azure.get('virtualMachines', 'aks-a')?.properties['zones']).toEqual(['2'])
  })

  test('puts the finalizer on a claim that was made by hand before there is a VM', async () => {
    const { azure, cluster, launch } = world(newClaim({ metadata: { finalizers: [] } }))
    let atPut: readonly string[] | undefined
    azure.intercept((request) => {
      if (request.startsWith('PUT')) atPut = cluster.object('nodeclaims', 'a')?.metadata.finalizers
    })
    await launch()
    expect(atPut).toEqual(['karpenter.sh/termination'])
  })

  test('removes labels of an earlier launch that the new VM does not have', async () => {
    const labels = {
      'karpenter.sh/nodepool': 'default',
      'karpenter.azure.com/sku-gpu-name': 'T4',
      'example.com/own': 'x',
    }
    const { cluster, launch } = world(newClaim({ metadata: { labels } }))
    await launch()
    const after = cluster.object('nodeclaims', 'a')?.metadata.labels
    expect(after).not.toHaveProperty(['karpenter.azure.com/sku-gpu-name'])
    expect(after).toMatchObject({ 'example.com/own': 'x' })
  })

  test.each([365, -31])(
    "gives the token its time by the API server's clock: the own one is %i days off",
    async (days) => {
      const { cluster, deps, launch } = world()
      const serverMs = Date.now() - days * 86_400_000
      tellAhead(deps.serverTime as ServerTime, days * 86_400_000)
      await launch()
      const { stringData } = cluster.object('secrets', secretName, 'kube-system') as unknown as { stringData: Json }
      const leftMs = Date.parse(String(stringData['expiration'])) - serverMs
      expect(leftMs / 60_000).toBeCloseTo(20, 1)
    },
  )

  test('keeps the secret of the token out of claim, events, log and result', async () => {
    const { cluster, launch, reported, logged } = world()
    const outcome = await launch()
    const secret = (cluster.object('secrets', secretName, 'kube-system') as unknown as { stringData: Json }).stringData[
      'token-secret'
    ] as string
    expect(secret).toMatch(/^[a-z0-9]{16}$/)
    for (const text of [outcome, cluster.object('nodeclaims', 'a'), reported, logged])
      expect(JSON.stringify(text)).not.toContain(secret)
  })
})

describe('a claim for which nothing is to be launched', () => {
  test.each<[string, Json | undefined]>([
    ['that is being deleted', goingClaim('a', { status: { conditions: [] } })],
    ['whose name another has', newClaim({ metadata: { uid: 'other' } })],
    ['that is gone', claimJson('b')],
  ])('%s: no VM, and no token is left', async (_, claim) => {
    const { azure, launch, tokens } = world(claim)
    expect(await launch(1, true)).toEqual({ kind: 'claimGone' })
    expect(azure.writes).toEqual([])
    expect(tokens()).toEqual([])
  })

  test('that has its Node keeps it, whatever Azure says of the VM', async () => {
    const { azure, cluster, launch } = world(claimJson('a'))
    plant(azure, tagsOf('uid-a'), 'Failed')
    const before = cluster.object('nodeclaims', 'a')
    expect(await launch(2)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D4s_v5', zone: 'westus2-1' })
    expect(azure.writes).toEqual([])
    expect(cluster.object('nodeclaims', 'a')).toEqual(before)
  })

  test('that has its Node and that the late write of another try calls not launched is launched', async () => {
    const conditions = [condition('Launched', 'Unknown', 0, 'AllocationFailure'), condition('Registered')]
    const { azure, launch, launched } = world(claimJson('a', { status: { conditions } }))
    expect(await launch(2)).toMatchObject({ kind: 'launched' })
    expect(launched()).toMatchObject({ status: 'True', reason: 'Launched' })
    expect(azure.writes).toEqual([])
  })

  test.each<[string, Json | undefined, RegExp]>([
    ['is missing', nodeClassJson('other'), /spec.nodeClassRef.name "default" names no AKSNodeClass/],
    ['is being deleted', nodeClassJson('default', { metadata: { deletionTimestamp: at(0) } }), /names no AKSNodeClass/],
    [
      'is not ready',
      nodeClassJson('default', {
        status: { conditions: [{ ...condition('Ready', 'False'), message: 'no subnet', observedGeneration: 1 }] },
      }),
      /is not Ready: no subnet/,
    ],
    [
      'is Ready, and has more tags than Azure takes',
      nodeClassJson('default', {
        spec: { tags: Object.fromEntries(Array.from({ length: 45 }, (_, at) => [`t${at}`, ''])) },
      }),
      /^AKSNodeClass default: spec\.tags leads to 51 tags/,
    ],
  ])('whose node class %s is reported so, and nothing is made', async (_, nodeClass, message) => {
    const { azure, launch } = world(newClaim(), nodeClass)
    const outcome = await launch()
    expect(outcome.kind).toBe('nodeClassNotReady')
    expect((outcome as { message: string }).message).toMatch(message)
    expect(azure.writes).toEqual([])
  })

  test.each([
    ['of an earlier generation', { ...condition('Ready'), observedGeneration: 0 }],
    ['that is not known yet', condition('Ready', 'Unknown')],
  ])('whose node class has a readiness %s is tried again, and says so', async (_, ready) => {
    const { azure, launch, launched } = world(newClaim(), nodeClassJson('default', { status: { conditions: [ready] } }))
    await expect(launch()).rejects.toThrow('its status was not brought up to date yet')
    expect(launched()).toMatchObject({ status: 'Unknown', reason: 'NodeClassReadinessUnknown' })
    expect(azure.writes).toEqual([])
  })

  test('with a value that no node can have is refused for good', async () => {
    const requirements = [inValues('node.kubernetes.io/windows-build', 'x\nKUBELET_FLAGS=--static-pod-url=http://evil')]
    const { azure, launch, launched } = world(newClaim({ requirements }))
    expect(await launch()).toMatchObject({ kind: 'invalid' })
    expect(launched()).toMatchObject({ status: 'False', reason: 'InvalidNodeClaim' })
    expect(azure.writes).toEqual([])
  })

  test.each<[string, readonly Json[], Json]>([
    ['no type is as large', onDemand, { cpu: '100' }],
    ['no such type exists', [inValues('node.kubernetes.io/instance-type', 'Standard_NC24')], { cpu: '1' }],
    ['no such zone exists', [inValues('topology.kubernetes.io/zone', 'westus2-9')], { cpu: '1' }],
  ])('is exhausted when %s', async (_, requirements, requests) => {
    const { azure, launch } = world(newClaim({ requirements, resources: { requests } }))
    expect(await launch()).toMatchObject({ kind: 'exhausted' })
    expect(azure.writes).toEqual([])
  })

  test('is not launched from a class without an image for the type, and reports which', async () => {
    const { azure, launch } = world(newClaim(), nodeClassJson('default', { status: { images: [] } }))
    expect(await launch()).toMatchObject({ kind: 'nodeClassNotReady' })
    expect(azure.writes).toEqual([])
  })
})

describe('a launch that is repeated after a crash', () => {
  test.each([
    ['', 0],
    [', and no Node of an evicted VM', 60],
  ])('at any request leaves one VM, one token and a launched claim%s', async (_, ago) => {
    const requests = async (failAt: number) => {
      const creationTimestamp = at(-ago)
      const { azure, cluster, launch, launched, tokens } = world(
        newClaim({ metadata: { finalizers: [], creationTimestamp } }),
      )
      if (ago > 0) cluster.put('nodes', nodeJson('a'))
      let count = 0
      const crash = () => {
        count += 1
        if (count === failAt) throw new Error('the process died')
      }
      // Before a request takes effect.
      cluster.intercept(({ verb }) => {
        if (verb !== 'get' && verb !== 'list') crash()
      })
      azure.intercept((request) => {
        if (!request.startsWith('GET')) crash()
      })
      await ended(launch(1), 200_000).catch(() => {})
      const made = count
      count = Number.POSITIVE_INFINITY
      await ended(launch(1, true), 200_000)
      expect(azure.names('virtualMachines')).toEqual(['aks-a'])
      expect(azure.names('disks')).toHaveLength(1)
      expect(tokens()).toEqual([secretName])
      expect(launched()).toMatchObject({ status: 'True' })
      expect(cluster.names('nodes')).toEqual([])
      expect(cluster.object('nodeclaims', 'a')?.metadata.finalizers).toEqual(['karpenter.sh/termination'])
      return made
    }
    const all = await requests(0)
    expect(all).toBeGreaterThanOrEqual(5)
    for (let failAt = 1; failAt <= all; failAt += 1) await requests(failAt)
  })

  test('whose PUT went through although its answer was lost finds the VM', async () => {
    const { azure, cluster, launch } = world()
    const end = cluster.intercept(({ verb, path }) => {
      if (verb === 'patch' && path.endsWith('/nodeclaims/a/status'))
        throw new ApiError(503, 'ServiceUnavailable', 'away')
    })
    await expect(launch()).rejects.toThrow('away')
    end()
    expect(await launch(1, true)).toMatchObject({ kind: 'launched' })
    expect(azure.writes).toEqual(['PUT virtualMachines/aks-a'])
  })

  test('makes a new token when the old one may be lost', async () => {
    const { cluster, launch } = world()
    cluster.put('secrets', {
      metadata: { name: secretName, namespace: 'kube-system', uid: 'old' },
      stringData: { 'token-secret': 'unreadable' },
    })
    await launch(1, true)
    expect(cluster.object('secrets', secretName, 'kube-system')?.metadata.uid).not.toBe('old')
  })
})

describe('the Node that an earlier VM of the claim left', () => {
  const taints = [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }]
  const isGone = (known: ReturnType<typeof world>) => known.cluster.names('nodes').length === 0

  const joined = nodeJson('a', { metadata: { labels: {}, finalizers: [], ownerReferences: [] }, spec: { taints } })

  test.each([
    ['joined', 60, joined],
    ['joined within seconds, as a cloud of tests may', 0, joined],
    ['was registered, which a restore of etcd took back from its NodeClaim', 60, nodeJson('a')],
  ])('that was evicted before its launch was recorded goes before the next VM is made: it %s', async (_, ago, node) => {
    const known = world(newClaim({ metadata: { creationTimestamp: at(-ago) } }))
    known.cluster.put('nodes', node)
    let wasGone: boolean | undefined
    known.azure.carry = (request, effect) => {
      if (request.startsWith('PUT virtualMachines')) wasGone = isGone(known)
      return effect()
    }
    expect(await known.launch(1, true)).toMatchObject({ kind: 'launched' })
    expect(wasGone).toBe(true)
    expect(known.reported.map(({ message }) => message)).toContain(
      'Node aks-a came from an earlier VM aks-a, which is gone, so it is deleted before the VM is made again',
    )
  })

  test('is found by a read where the watch is late', async () => {
    const known = world(newClaim({ metadata: { creationTimestamp: at(-60) } }))
    known.cluster.lag()
    known.cluster.put('nodes', nodeJson('a'))
    await known.launch(1, true)
    expect(isGone(known)).toBe(true)
  })

  test('that finalizers of others hold is waited for: no VM is made that would take it up', async () => {
    const known = world(newClaim({ metadata: { creationTimestamp: at(-60) } }))
    known.cluster.put('nodes', nodeJson('a', { metadata: { finalizers: ['example.com/mine'], ownerReferences: [] } }))
    await expect(known.launch(1, true)).rejects.toThrow(
      'Node aks-a is of an earlier VM and is held by metadata.finalizers example.com/mine',
    )
    expect(known.azure.writes).toEqual([])
  })

  test('keeps its name to another Node, which keeps its finalizer', async () => {
    const known = world(newClaim({ metadata: { creationTimestamp: at(-60) } }))
    known.cluster.put('nodes', nodeJson('a'))
    const end = known.cluster.intercept(({ verb, path }) => {
      if (verb !== 'get' || path !== '/api/v1/nodes/aks-a') return
      end()
      setTimeout(() => {
        known.cluster.remove('nodes', 'aks-a')
        known.cluster.put('nodes', nodeJson('a', { metadata: { uid: 'another' } }))
      }, 0)
    })
    known.azure.carry = async (_, effect) => {
      await new Promise((resolve) => setTimeout(resolve, 10))
      return effect()
    }
    await known.launch(1, true)
    expect(known.cluster.object('nodes', 'aks-a')?.metadata).toMatchObject({
      uid: 'another',
      finalizers: ['karpenter.sh/termination'],
    })
  })

  test('is not asked for where no VM can have joined yet', async () => {
    const { cluster, launch } = world()
    const read: string[] = []
    cluster.intercept(({ verb, path }) => {
      if (verb === 'get') read.push(path)
    })
    await launch()
    expect(read).not.toContain('/api/v1/nodes/aks-a')
  })

  test("stays where a VM came up since the look: it may be that VM's", async () => {
    const known = world(newClaim({ metadata: { creationTimestamp: at(-60) } }))
    known.cluster.put('nodes', nodeJson('a'))
    known.cluster.intercept(({ verb, path }) => {
      if (verb === 'get' && path === '/api/v1/nodes/aks-a') plant(known.azure, tagsOf('uid-a'))
    })
    await expect(known.launch(1, true)).rejects.toThrow('VM aks-a exists by now')
    expect(isGone(known)).toBe(false)
    expect(await known.launch(1, true)).toMatchObject({ kind: 'launched', instanceType: 'Standard_D8s_v5' })
    expect(known.azure.writes).toEqual([])
  })

  test.each([
    [
      'of another NodeClaim',
      {
        metadata: {
          ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'b', uid: 'uid-b' }],
        },
      },
    ],
    [
      'of a VM in another resource group',
      { spec: { providerID: 'azure:///subscriptions/s/resourceGroups/other/providers/x/virtualMachines/aks-a' } },
    ],
  ])('%s stays', async (_, node) => {
    const known = world(newClaim({ metadata: { creationTimestamp: at(-60) } }))
    known.cluster.put('nodes', nodeJson('a', node))
    await known.launch(1, true)
    expect(isGone(known)).toBe(false)
  })
})
