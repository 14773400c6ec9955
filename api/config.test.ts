import { describe, expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { gateWarnings } from './settings/scheduler-settings.ts'

const required = {
  TEMPORAL_ADDRESS: 'temporal:7233',
  CLUSTER_NAME: 'demo',
  CLUSTER_ENDPOINT: 'https://demo',
  ARM_SUBSCRIPTION_ID: 'sub',
  LOCATION: 'westus2',
  AZURE_NODE_RESOURCE_GROUP: 'MC_demo',
  VNET_SUBNET_ID:
    '/subscriptions/sub/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes',
  SSH_PUBLIC_KEY: 'ssh-ed25519 AAAA',
}

function read(env: Readonly<Record<string, string>>) {
  const result = readConfig({ ...required, ...env })
  return result.kind === 'config' ? result.config : result.errors
}

const spread = (constraints: string) => `podTopologySpread:\n  defaultConstraints:\n${constraints}`
const zonal = '  - { maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway }\n'

describe('settings of the scheduler', () => {
  test("are Karpenter's when unset", () => {
    const config = { PREFERENCE_POLICY: 'Respect', MIN_VALUES_POLICY: 'Strict', SCHEDULER_CONFIG: [] }
    expect(read({})).toMatchObject({ ...config, FEATURE_GATES: { ReservedCapacity: true, NodeOverlay: false } })
    expect(read({ FEATURE_GATES: '', SCHEDULER_CONFIG: '' })).toEqual(read({}))
  })

  test('gates that are named change, the others stay', () => {
    expect(read({ FEATURE_GATES: 'ReservedCapacity=false, NodeRepair=True' })).toMatchObject({
      FEATURE_GATES: { ReservedCapacity: false, NodeRepair: true, StaticCapacity: false },
    })
  })

  test('default spread constraints are read as kube-scheduler writes them', () => {
    const hosts =
      '  - { maxSkew: 5, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, minDomains: 2 }\n'
    expect(read({ SCHEDULER_CONFIG: spread(zonal + hosts) })).toMatchObject({
      SCHEDULER_CONFIG: [
        { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'ScheduleAnyway' },
        { maxSkew: 5, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule', minDomains: 2 },
      ],
    })
  })

  test.each([
    [{ PREFERENCE_POLICY: 'respect' }, '"respect": is not a policy; use Respect or Ignore'],
    [{ MIN_VALUES_POLICY: 'Best' }, '"Best": is not a policy; use Strict or BestEffort'],
    [{ FEATURE_GATES: 'ReservedCapacity=yes' }, 'has "ReservedCapacity=yes", which is no gate; write Name=true'],
    [{ FEATURE_GATES: 'ReservedCapacity' }, 'has "ReservedCapacity", which is no gate'],
    [{ SCHEDULER_CONFIG: 'a: [' }, 'is not YAML'],
    [{ SCHEDULER_CONFIG: 'profiles: []' }, 'profiles'],
    [{ SCHEDULER_CONFIG: spread(zonal.replace('1', '0')) }, 'defaultConstraints[0].maxSkew: must be 1 or more'],
    [{ SCHEDULER_CONFIG: spread(zonal.replace('Anyway', '')) }, 'must be DoNotSchedule or ScheduleAnyway'],
    [{ SCHEDULER_CONFIG: spread(zonal.replace('.io/zone', '.io/zo ne')) }, 'is no label key'],
    [{ SCHEDULER_CONFIG: spread(zonal.replace(' }', ', labelSelector: {} }')) }, 'labelSelector'],
    [{ SCHEDULER_CONFIG: spread(zonal.replace(' }', ', matchLabelKeys: [a] }')) }, 'matchLabelKeys'],
    [{ SCHEDULER_CONFIG: spread(zonal + zonal) }, 'defaultConstraints[1]: repeats (topology.kubernetes.io/zone'],
  ])('%j is refused, with variable, value and remedy', (env, said) => {
    const errors = read(env)
    expect(errors).toEqual([expect.stringContaining(`environment variable ${Object.keys(env)[0]} "`)])
    expect(errors).toEqual([expect.stringContaining(said)])
  })

  const forced = { terminationGracePeriodMs: 0, priority: 0, action: 'ReplaceNode' }

  test('conditions of Nodes are those of AKS when unset, and none when empty', () => {
    expect(read({})).toMatchObject({
      JOINER_INTERRUPTION_CONDITIONS: [
        { type: 'PreemptionScheduled', status: 'True' },
        { type: 'VMEventScheduled', status: 'True', reason: 'PreemptScheduled' },
        { type: 'VMEventScheduled', status: 'True', reason: 'TerminateScheduled' },
      ],
      JOINER_REPAIR_POLICIES: [
        { type: 'Ready', status: 'False', tolerationMs: 600_000, ...forced },
        { type: 'Ready', status: 'Unknown', reasonPattern: '.*', tolerationMs: 600_000, ...forced },
        { type: 'kubernetes.azure.com/NodeHealthy', status: 'False', reasonPattern: '.*', tolerationMs: 0, ...forced },
        { type: 'PreemptionScheduled', status: 'True', reasonPattern: '.*', tolerationMs: 0, ...forced },
      ],
    })
    expect(read({ JOINER_INTERRUPTION_CONDITIONS: '', JOINER_REPAIR_POLICIES: 'Broken=Unknown:1m30s' })).toMatchObject({
      JOINER_INTERRUPTION_CONDITIONS: [],
      JOINER_REPAIR_POLICIES: [{ type: 'Broken', status: 'Unknown', tolerationMs: 90_000, ...forced }],
    })
  })

  test.each([
    [{ JOINER_INTERRUPTION_CONDITIONS: 'Preempted' }, 'has "Preempted", which is no condition: write Type=True'],
    [{ JOINER_INTERRUPTION_CONDITIONS: 'Preempted=yes' }, 'has "Preempted=yes", which is no condition'],
    [{ JOINER_INTERRUPTION_CONDITIONS: 'A=True:1m' }, 'gives A=True a duration'],
    [{ JOINER_REPAIR_POLICIES: 'Ready=False' }, 'has no toleration for Ready=False; write Ready=False:10m'],
    [{ JOINER_REPAIR_POLICIES: 'Ready=False:soon' }, 'has no toleration for Ready=False'],
    [{ JOINER_REPAIR_POLICIES: 'Re ady=False:1m' }, 'has "Re ady=False:1m", which is no condition'],
    [{ JOINER_REPAIR_POLICIES: '[{' }, 'is not a YAML list of policies'],
    [{ JOINER_REPAIR_POLICIES: '[3]' }, 'has the policy [0]'],
    [{ JOINER_REPAIR_POLICIES: '[{conditionType: A}]' }, 'has the policy [0].conditionStatus: must be "True"'],
    [
      { JOINER_REPAIR_POLICIES: '[{conditionType: A, conditionStatus: "True", tolerationDuration: soon}]' },
      'has the policy [0].tolerationDuration: "soon" is not a duration; write such as 0s, 90s or 10m',
    ],
    [
      { JOINER_REPAIR_POLICIES: '["B=True:0s", {conditionType: A, conditionStatus: "True", reasonRegex: "(a"}]' },
      'has the policy A=True/(a with reasonRegex "(a"; it is no RE2 pattern (error parsing regexp: missing closing ): `(a`); correct it',
    ],
    [{ FEATURE_GATES: 'NodeRepair=true', JOINER_REPAIR_POLICIES: '' }, 'has no policy, and the gate NodeRepair needs'],
  ])('%j is refused', (env, said) => {
    expect(read(env)).toEqual([expect.stringContaining(said)])
  })

  test('repair policies may have all fields; a short one beside a long fallback is for any reason', () => {
    const long = `[{conditionType: KernelDeadlock, conditionStatus: "True", reasonRegex: "Docker|Hung", tolerationDuration: 30s,
      terminationGracePeriod: 1m, priority: 90, action: RebootNode}, "Ready=False:10m", {conditionType: Ready, conditionStatus: Unknown}]`
    expect(read({ JOINER_REPAIR_POLICIES: long })).toMatchObject({
      LEGACY_NODE_REPAIR: false,
      JOINER_REPAIR_POLICIES: [
        {
          type: 'KernelDeadlock',
          status: 'True',
          reasonPattern: 'Docker|Hung',
          tolerationMs: 30_000,
          terminationGracePeriodMs: 60_000,
          priority: 90,
          action: 'RebootNode',
        },
        { type: 'Ready', status: 'False', reasonPattern: '.*', tolerationMs: 600_000, ...forced },
        { type: 'Ready', status: 'Unknown', tolerationMs: 0, priority: 0, action: 'ReplaceNode' },
      ],
    })
  })

  test('a gate that there is not causes a warning', () => {
    const gates = {
      ReservedCapacity: true,
      NodeOverlay: true,
      CapacityBuffer: true,
      StaticCapacity: true,
      NodeRepair: false,
      Nonsense: false,
    }
    expect(gateWarnings(gates)).toEqual([
      expect.stringContaining('"Nonsense=false": there is no such gate; use some of NodeRepair'),
    ])
  })
})

describe('the version reported to Temporal', () => {
  test('is unset by default', () => {
    expect(read({ JOINER_WORKER_VERSIONING: '', TEMPORAL_DEPLOYMENT_NAME: '', TEMPORAL_WORKER_BUILD_ID: '' })).toEqual(
      read({}),
    )
    expect(read({})).toMatchObject({ JOINER_WORKER_VERSIONING: false })
    expect(read({ JOINER_WORKER_VERSIONING: 'true' })).toMatchObject({ JOINER_WORKER_VERSIONING: true })
  })

  test('needs both of its names: one alone is refused', () => {
    const both = { TEMPORAL_DEPLOYMENT_NAME: 'joiner', TEMPORAL_WORKER_BUILD_ID: 'v7' }
    expect(read(both)).toMatchObject(both)
    expect(read({ TEMPORAL_DEPLOYMENT_NAME: 'joiner' })).toEqual([
      'environment variable TEMPORAL_WORKER_BUILD_ID: is missing: set it as well, or neither of TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID',
    ])
  })
})
