import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Json } from '../../../api/conversion/residue.ts'
import { type FieldError, pathText } from '../../../core/values/field-error.ts'
import { builtProgram } from '../../../test/runner/program.ts'
import { readVectors } from '../../../test/vectors/packs.ts'
import { validateObject } from './validate-object.ts'

let cli = ''
const folder = mkdtempSync(join(tmpdir(), 'joiner-validate-'))
beforeAll(async () => {
  cli = await builtProgram()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function joiner(...given: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) =>
    execFile(process.execPath, [cli, ...given], (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    ),
  )
}

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const broken = `# Two errors, of two kinds.
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: bad
spec:
  template:
    spec:
      requirements:
        - { key: kubernetes.io/arch, operator: In, values: [amd64] }
        - key: karpenter.sh/capacity-type
          operator: In
          values: []
      nodeClassRef: { group: karpenter.azure.com, kind: AKSNodeClass, name: default }
  disruption:
    consolidationPolicies: WhenEmpty
---
apiVersion: v1
kind: ConfigMap
metadata: { name: other }
---
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: { name: old }
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: { name: default }
  disruption:
    expireAfter: 5 days
`

const overlay = `apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: { name: a }
spec: { requirements: [{ key: team, operator: In, values: [red] }], priceAdjustment: '+1' }
`

describe('joiner validate', () => {
  it('names file, line, object and field, and ends with code 1', async () => {
    const path = file('broken.yaml', broken)
    const { code, stdout, stderr } = await joiner('validate', path)
    expect(code).toBe(1)
    expect(stdout.trimEnd().split('\n')).toEqual([
      `${path}:9: spec.template.spec.requirements: NodePool "bad": requirements with operator 'In' must have a value defined; in entry [1] of karpenter.sh/capacity-type write a value, or operator: Exists`,
      `${path}:16: spec.disruption.consolidationPolicies: NodePool "bad": is not a field of this object; write consolidationPolicy`,
      `${path}:31: spec.disruption.expireAfter: NodePool "old": is "5 days"; write hours, minutes and seconds, such as 720h, or Never`,
    ])
    expect(stderr).toContain('line 18: ConfigMap "other" skipped')
  })

  it('prints JSON for pipelines, one entry per file, and ends with code 2 where one cannot be read', async () => {
    const good = file('good.yaml', broken.split('---\n')[1] ?? '')
    const unreadable = file('yaml-error.yaml', 'a: [1\n')
    const { code, stdout } = await joiner('validate', '--output', 'json', good, unreadable, join(folder, 'none.yaml'))
    expect(code).toBe(2)
    expect(JSON.parse(stdout)).toEqual([
      { file: good, valid: true, errors: [], warnings: [] },
      {
        file: unreadable,
        valid: false,
        errors: [{ path: '', message: expect.stringMatching(/^line [12]: /) }],
        warnings: [],
      },
      {
        file: join(folder, 'none.yaml'),
        valid: false,
        errors: [{ path: '', message: expect.stringContaining('ENOENT') }],
        warnings: [],
      },
    ])
  })

  it('warns of what cannot work and is no error, and ends with code 0', async () => {
    const path = file('unread.yaml', overlay)
    const { code, stdout, stderr } = await joiner('validate', path)
    expect([code, stdout.trim()]).toEqual([0, `${path}: valid`])
    expect(stderr).toContain(
      `${path}:1: warning: NodeOverlay "a": kind NodeOverlay, metadata.name a: the gate NodeOverlay is off`,
    )
  })

  it('ends with code 0 where all is well', async () => {
    expect((await joiner('validate', file('fine.yaml', broken.split('---\n')[1] ?? ''))).code).toBe(0)
  })
})

it.each([
  [{ consolidationPolicy: 'WhenUnderutilized', consolidateAfter: '5m' }, {}, 'cannot be combined'],
  [{ consolidationPolicy: 'WhenEmpty' }, {}, 'must be specified'],
  [{ consolidationPolicy: 'WhenEmptyOrUnderutilized' }, {}, 'WhenUnderutilized'],
  [{}, { kubelet: { maxPods: -1 } }, 'use at least 0'],
  [{}, { kubelet: { systemReserved: { disk: '1Gi' } } }, 'valid keys are'],
  [{}, { kubelet: { evictionSoft: { 'memory.available': '5%' } } }, 'needs an entry in evictionSoftGracePeriod'],
  [{}, { terminationGracePeriod: '1h' }, 'is not a field'],
])('of v1beta1 disruption %j with %j is refused', (disruption, more, message) => {
  const spec = { template: { spec: { requirements: [], nodeClassRef: { name: 'a' }, ...more } }, disruption }
  const pool = { apiVersion: 'karpenter.sh/v1beta1', kind: 'NodePool', metadata: { name: 'a' }, spec }
  expect(validateObject(pool)).toMatchObject({ errors: [{ message: expect.stringContaining(message) }] })
})

it('joiner convert prints the newest versions, and what it prints is valid', async () => {
  const { code, stdout } = await joiner('convert', file('old.yaml', broken.replace('5 days', 'Never')))
  expect(code).toBe(0)
  const documents = stdout.split('---\n').map((text) => parse(text) as Json)
  expect(documents.map(({ apiVersion }) => apiVersion)).toEqual(['karpenter.sh/v1', 'v1', 'karpenter.sh/v1'])
  expect(validateObject(documents[2] ?? {})).toEqual({ kind: 'checked', errors: [], warnings: [] })
})

describe('values that only nodes refuse', () => {
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'a' }
  const pool = (template: object, metadata: object = {}) => ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'a', ...metadata },
    spec: { template: { spec: { requirements: [], nodeClassRef, ...template } } },
  })
  const claim = (spec: object, metadata: object = { name: 'a' }) => ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata,
    spec: { requirements: [], nodeClassRef, ...spec },
  })
  const nodeClass = (spec: object) => ({
    apiVersion: 'karpenter.azure.com/v1beta1',
    kind: 'AKSNodeClass',
    metadata: { name: 'a' },
    spec,
  })
  const tags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, 'x']))
  const kubelet = 'compatibility.karpenter.sh/v1beta1-kubelet-conversion'
  const builds = [{ key: 'node.kubernetes.io/windows-build', operator: 'Lt', values: ['0'] }]

  it.each<[Json, string, RegExp]>([
    [pool({}, { name: 'p'.repeat(54) }), 'metadata.name', /at most 53/],
    [pool({ nodeClassRef: { ...nodeClassRef, name: 'c'.repeat(64) } }), 'spec.template.spec.nodeClassRef.name', /63/],
    [pool({ requirements: builds }), 'spec.template.spec.requirements', /below 0/],
    [pool({ taints: [{ key: 'a', value: 'b/c', effect: 'NoSchedule' }] }), 'spec.template.spec.taints', /"b\/c"/],
    [pool({}, { annotations: { [kubelet]: '{"clusterDNS":["a b"]}' } }), '', /clusterDNS/],
    [pool({}, { labels: { a: 'x\ny' } }), 'metadata.labels.a', /a valid label must be/],
    [claim({}, { name: 'c'.repeat(60) }), 'metadata.name', /at most 59/],
    [claim({}, { generateName: 'c'.repeat(55) }), 'metadata.name', /60 characters/],
    [claim({ requirements: [{ key: 'a', operator: 'In', values: ['x y'] }] }), 'spec.requirements[0]', /invalid value/],
    [nodeClass({ kubelet: { allowedUnsafeSysctls: ['a b'] } }), 'spec.kubelet.allowedUnsafeSysctls[0]', /is no name/],
    [nodeClass({ kubelet: { cpuCFSQuotaPeriod: '5s' } }), 'spec.kubelet.cpuCFSQuotaPeriod', /1ms to 1s/],
    [nodeClass({ tags: { Owner: 'a', owner: 'b' } }), 'spec.tags', /must differ by more than case/],
    [nodeClass({ tags: { 'A/b': 'a', a_B: 'b' } }), 'spec.tags', /must differ by more than case/],
    [nodeClass({ tags: tags(45) }), 'spec.tags', /51 tags of a node/],
    [nodeClass({ tags: tags(101) }), 'spec.tags', /at most 100 entries/],
    [nodeClass({ osDiskType: 'Ephemeral' }), 'spec.osDiskType', /Managed/],
  ])('are named with their path: %j', (object, path, message) => {
    const result = validateObject(object)
    const errors = result.kind === 'checked' ? result.errors : []
    expect(errors.map((error) => pathText(error.path))).toEqual([path])
    expect(errors[0]?.message).toMatch(message)
  })
})

interface Case {
  readonly id: string
  readonly input: { readonly object: Json; readonly old?: unknown }
  readonly expected: { readonly accepted: boolean }
}
interface NodeClassCase {
  readonly name: string
  readonly spec: Json
  readonly valid: boolean
}

describe('offline', () => {
  it('refuses what the API server refuses, and else only what kubectl or a controller would', () => {
    const classes = readVectors('azure/aksnodeclass-validation') as { readonly cases: readonly NodeClassCase[] }
    const cases = [
      ...(readVectors('algebra/validation') as Case[])
        .filter(({ input }) => input.old === undefined)
        .map(({ id, input, expected }) => ({ id, object: input.object, accepted: expected.accepted })),
      ...classes.cases.map(({ name, spec, valid }) => ({
        id: name,
        object: { apiVersion: 'karpenter.azure.com/v1beta1', kind: 'AKSNodeClass', metadata: { name: 'a' }, spec },
        accepted: valid,
      })),
    ]
    const errorsOf = (object: Json): readonly FieldError[] => {
      const result = validateObject(object)
      return result.kind === 'checked' ? result.errors : []
    }
    const tooKind = cases.filter(({ object, accepted }) => !accepted && errorsOf(object).length === 0)
    expect(tooKind.map(({ id }) => id)).toEqual([])
    const later =
      /is not a field of this object|in requirements, restricted|holds at most 100|is no key|for key a, must be no more than 63|value "x\/y": a valid label|is not the id of a subnet|is not a duration|is not namespaced|blocks all disruption|which is no name/
    const tooStrict = cases.filter(
      ({ object, accepted }) => accepted && !errorsOf(object).every(({ message }) => later.test(message)),
    )
    expect(tooStrict.map(({ id }) => id)).toEqual([])
    console.log(`${cases.length} validation cases judged offline`)
  })
})

// The policies compare requirements with each other: these would take minutes.
it('refuses a NodePool of thousands of requirements without a look at the policies', () => {
  const requirements = Array.from({ length: 20_000 }, () => ({ key: 'a', operator: 'In', values: ['b'] }))
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
  const spec = { template: { spec: { requirements, nodeClassRef } } }
  expect(validateObject({ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'a' }, spec })).toEqual({
    kind: 'checked',
    errors: [{ path: ['spec', 'template', 'spec', 'requirements'], message: 'has 20000 entries; use at most 100' }],
    warnings: [],
  })
})
