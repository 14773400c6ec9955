import { describe, expect, test } from 'vitest'
import { plainText } from '../../document/text.ts'
import type { InputFile } from '../../files/input-file.ts'
import { load } from './load.ts'
import { planDocument, solveRounds } from './result.ts'

const bytes = (file: string, text: string): InputFile => ({ file, bytes: new TextEncoder().encode(text) })
const type = (name: string, cpu: number, zone = 'z-1') => ({
  name,
  capacity: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '110' },
  offerings: [
    {
      price: cpu / 20,
      available: true,
      requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        { key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] },
      ],
    },
  ],
})
const catalog = JSON.stringify({ instanceTypes: [type('small', 2), type('large', 8), type('far', 2.5, 'z-2')] })

/** The table, and what is said beside it, for hand-written manifests. */
async function plan(...manifests: readonly string[]): Promise<{ readonly table: string; readonly remarks: string }> {
  const settings = { prices: [], overrides: {}, complete: true, disruption: false, catalog: bytes('types', catalog) }
  const loaded = await load([bytes('f', manifests.join('\n---\n'))], settings)
  const table = plainText(planDocument(solveRounds(loaded.read, 1, () => {})))
  return { table, remarks: loaded.remarks().join('\n') }
}

const ref = '{group: karpenter.azure.com, kind: AKSNodeClass, name: default}'
const pool = (more = '', requirements = '[]', nodeClassRef = ref) =>
  `{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: p}, spec: {${more}template: {spec: {requirements: ${requirements}, nodeClassRef: ${nodeClassRef}}}}}`
const pod = (name: string, spec: string) => `{apiVersion: v1, kind: Pod, metadata: {name: ${name}}, spec: {${spec}}}`
const asking = (amounts: string) => `containers: [{name: c, resources: ${amounts}}]`
const kata = '{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: kata}, overhead: {podFixed: {cpu: 2}}}'
const defaultClass =
  '{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: d, volumeBindingMode: WaitForFirstConsumer, allowedTopologies: [{matchLabelExpressions: [{key: topology.kubernetes.io/zone, values: [z-2]}]}]}'
const claim = '{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {}}'

describe('what an API server makes of manifests decides where their pods go', () => {
  test.each([
    ['requests', [pod('web', asking('{requests: {cpu: 1}}'))], 'small'],
    ['limits alone', [pod('web', asking('{limits: {cpu: 6}}'))], 'large'],
    ['limits of the pod', [pod('web', `resources: {limits: {cpu: 6}}, ${asking('{}')}`)], 'large'],
    [
      'overhead of a RuntimeClass',
      [kata, pod('web', `runtimeClassName: kata, ${asking('{requests: {cpu: 1}}')}`)],
      'large',
    ],
    [
      'the default StorageClass',
      [
        defaultClass,
        claim,
        pod('web', `${asking('{requests: {cpu: 1}}')}, volumes: [{name: v, persistentVolumeClaim: {claimName: a}}]`),
      ],
      'far',
    ],
    [
      'host ports of hostNetwork',
      ['a', 'b'].map((name) => pod(name, `hostNetwork: true, containers: [{name: c, ports: [{containerPort: 80}]}]`)),
      'small',
      2,
    ],
    ['gates', [pod('web', `schedulingGates: [{name: quota}], ${asking('{requests: {cpu: 1}}')}`)], undefined, 0],
  ])('%s', async (_, objects, expected, nodes = 1) => {
    const { table } = await plan(pool(), ...objects)
    expect(table).toContain(`${nodes} new node${nodes === 1 ? '' : 's'} for`)
    if (expected !== undefined) expect(table).toMatch(new RegExp(`new 1 +p +${expected}\\b`))
  })

  test('the pods of workloads are planned', async () => {
    const workload = (kind: string, name: string, replicas: number) =>
      `{apiVersion: apps/v1, kind: ${kind}, metadata: {name: ${name}}, spec: {replicas: ${replicas}, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {${asking('{requests: {cpu: 1}}')}}}}}`
    const { table, remarks } = await plan(pool(), workload('StatefulSet', 'web', 2), workload('Deployment', 'api', 3))
    expect(table).toContain('5: default/api-1, default/api-2, default/api-3, default/web-0, default/web-1')
    expect(remarks).toContain('pods that controllers would make for the workloads were added: default/api-1, ')
  })
})

test('pods that wait for different reasons are reported apart, each with its own', async () => {
  const objects = [
    pod('big', asking('{requests: {cpu: 200}}')),
    pod('bigger', asking('{requests: {cpu: 200}}')),
    pod('red', `nodeSelector: {team: red}, ${asking('{requests: {cpu: 1}}')}`),
  ]
  const pending = (await plan(pool(), ...objects)).table.split('PENDING\n')[1]
  const shown = pending?.split('\n').map((line) => line.replace(/: no instance type .*/, ':'))
  expect(shown).toEqual([
    'default/big, default/bigger:',
    '  NodePool p: 3 types; left after requirements 3, resources 0, offerings 0, limits 0',
    '    needs 192 more cpu than large leaves for pods, the nearest of 3 types',
    expect.stringMatching(/^default\/red: /) as unknown,
    '  NodePool p: 3 types; left after requirements 0, resources 0, offerings 0, limits 0',
    expect.stringContaining('team') as unknown,
  ])
})

test('very many reasons are counted after the first', async () => {
  const objects = Array.from({ length: 250 }, (_, at) => pod(`p${at}`, `nodeSelector: {team: t${at}}, containers: []`))
  const { table } = await plan(pool(), ...objects)
  expect(table).toContain('and 50 more pods; --explain NAMESPACE/NAME says why')
})

describe('what an API server refuses is refused', () => {
  const requirement = (text: string) => pool('', `[{key: karpenter.azure.com/sku-cpu, ${text}}]`)
  test.each([
    [pool('', '[]', '{name: default}'), 'spec.template.spec.nodeClassRef.group is missing; add it'],
    [
      pool('', '[]', '{group: karpenter.azure.com, name: default}'),
      'spec.template.spec.nodeClassRef.kind is missing; add it',
    ],
    [
      pool('', '[]', '{group: karpenter.azure.com, kind: AKSNodeClass}'),
      'spec.template.spec.nodeClassRef.name is missing; add it',
    ],
    [pool('', '[]', '{}'), 'spec.template.spec.nodeClassRef'],
    [pool('', '[]', 'null'), 'spec.template.spec.nodeClassRef is missing; add it'],
    [requirement('operator: Gt, values: ["8.5"]'), 'spec.template.spec.requirements'],
    [requirement('operator: Lt, values: ["-1"]'), 'spec.template.spec.requirements'],
    [requirement('operator: Gt, values: ["1", "2"]'), 'spec.template.spec.requirements'],
    [requirement('operator: In, values: []'), 'spec.template.spec.requirements'],
    [pool('weight: 1000, '), 'spec.weight'],
  ])('%s', async (manifest, message) => {
    const error = await plan(manifest, pod('web', 'containers: []')).catch((thrown: unknown) => thrown)
    expect(String(error)).toContain(`NodePool "p": ${message}`)
  })

  test('but not what an API server has taken', async () => {
    const taken = pool('weight: 1000, ').replace('{name: p}', '{name: p, uid: a}')
    expect((await plan(taken, pod('web', asking('{requests: {cpu: 1}}')))).table).toContain('1 new node for 1 pod')
  })
})
