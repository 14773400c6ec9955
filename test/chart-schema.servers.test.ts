import { describe, expect, test } from 'vitest'
import { chartFolder, helm, smallestValues } from './chart.ts'

describe('values.schema.json', () => {
  test('refuses the defaults alone and names all that is missing', async () => {
    const { code, stderr } = await helm(['template', 'joiner', chartFolder], {})
    expect(code).not.toBe(0)
    for (const path of [
      '/cluster/name',
      '/cluster/endpoint',
      '/azure/subscriptionId',
      '/azure/location',
      '/azure/nodeResourceGroup',
      '/azure/subnetId',
      '/azure/sshPublicKey',
    ])
      expect(stderr).toContain(path)
  })

  const { cluster, azure } = smallestValues
  test.each([
    ['a plain http endpoint', { cluster: { ...cluster, endpoint: 'http://demo' } }, '/cluster/endpoint'],
    ['a number for a name', { cluster: { ...cluster, name: 7 } }, '/cluster/name'],
    ['a subnet that is no ARM id', { azure: { ...azure, subnetId: 'nodes' } }, '/azure/subnetId'],
    ['an identity that is no ARM id', { azure: { ...azure, nodeIdentities: ['me'] } }, '/azure/nodeIdentities/0'],
    [
      'a network plugin that is not supported',
      { azure: { ...azure, networkPlugin: 'kubenet' } },
      '/azure/networkPlugin',
    ],
    [
      'a plugin mode that is not supported',
      { azure: { ...azure, networkPluginMode: 'bridge' } },
      '/azure/networkPluginMode',
    ],
    ['a Temporal address without a port', { temporal: { address: 'temporal' } }, '/temporal/address'],
    ['an empty Temporal namespace', { temporal: { namespace: '' } }, '/temporal/namespace'],
    ['no replica', { planner: { replicas: 0 } }, '/planner/replicas'],
    ['a replica count in words', { controller: { replicas: 'two' } }, '/controller/replicas'],
    ['a log level that there is not', { settings: { logLevel: 'loud' } }, '/settings/logLevel'],
    ['a duration without a unit', { settings: { batchIdleDuration: '10' } }, '/settings/batchIdleDuration'],
    ['a policy that there is not', { settings: { preferencePolicy: 'Prefer' } }, '/settings/preferencePolicy'],
    ['a policy in lower case', { settings: { minValuesPolicy: 'strict' } }, '/settings/minValuesPolicy'],
    ['a gate that has no effect', { settings: { featureGates: { nodeOverlay: true } } }, 'nodeOverlay'],
    [
      'a default spread constraint with a selector',
      {
        settings: {
          schedulerConfig: {
            podTopologySpread: {
              defaultConstraints: [
                { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {} },
              ],
            },
          },
        },
      },
      'labelSelector',
    ],
    ['a duration of mixed units', { settings: { batchMaxDuration: '1m30s' } }, '/settings/batchMaxDuration'],
    ['an interval that is a number', { settings: { resyncInterval: 300 } }, '/settings/resyncInterval'],
    [
      'a share of more than all memory',
      { settings: { vmMemoryOverheadPercent: 7.5 } },
      '/settings/vmMemoryOverheadPercent',
    ],
    ['a pull policy that there is not', { image: { pullPolicy: 'Sometimes' } }, '/image/pullPolicy'],
    ['a ServiceAccount without a name', { serviceAccount: { name: '' } }, '/serviceAccount/name'],
    ['a misspelt setting', { settings: { batchIdleDurations: '1s' } }, 'batchIdleDurations'],
    ['a misspelt section', { temporale: {} }, 'temporale'],
  ])('refuses %s', async (_what, values, named) => {
    const { code, stderr } = await helm(['template', 'joiner', chartFolder], { ...smallestValues, ...values })
    expect(code).not.toBe(0)
    expect(stderr).toContain(named)
  })
})
