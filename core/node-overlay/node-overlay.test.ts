import { describe, expect, it } from 'vitest'
import { allocatableGroups, type InstanceType } from '../instance-type.ts'
import type { NodeOverlay, RequirementSpec } from '../objects.ts'
import { labels, wellKnownLabels } from '../requirements/labels.ts'
import { requirements } from '../requirements/requirements.ts'
import { formatResources, parseResources } from '../resources.ts'
import { overlaidTypes } from './apply-overlays.ts'
import { evaluateOverlays } from './evaluate-overlays.ts'

const overlay = (spec: Partial<NodeOverlay>): NodeOverlay => ({
  kind: 'NodeOverlay',
  metadata: { name: 'o' } as NodeOverlay['metadata'],
  requirements: [],
  capacity: {},
  weight: 1,
  conditions: [],
  ...spec,
})

const offering = (zone: string, own: Partial<InstanceType['offerings'][number]> = {}) => ({
  requirements: requirements([{ key: labels.zone, operator: 'In', values: [zone] }]),
  price: 0.1,
  available: true,
  ...own,
})

describe('a requirement that says nothing', () => {
  const outcome = (entry: RequirementSpec) =>
    evaluateOverlays([overlay({ requirements: [entry] })], [], wellKnownLabels).outcomes.get('o')

  it.each<[RequirementSpec, string]>([
    [{ key: labels.arch, operator: 'NotIn' }, `key ${labels.arch} with operator NotIn must have a value defined`],
    [
      { key: labels.arch, operator: 'NotIn', values: [] },
      `key ${labels.arch} with operator NotIn must have a value defined`,
    ],
    [
      { key: labels.arch, operator: 'In' },
      `invalid value: key ${labels.arch} with operator In must have a value defined in requirements, restricted`,
    ],
  ])('%j', (entry, message) => {
    expect(outcome(entry)).toEqual({ kind: 'invalid', message })
  })
})

it('replaces in an offering with amounts of its own only what the overlay and the offering name', () => {
  const type: InstanceType = {
    name: 'Standard_D2s_v5',
    requirements: requirements([{ key: labels.instanceType, operator: 'In', values: ['Standard_D2s_v5'] }]),
    offerings: [
      offering('1'),
      offering('2', { capacityOverride: parseResources({ memory: '6Gi', 'example.com/own': '1' }) }),
      offering('3', { overheadOverride: { kubeReserved: parseResources({ memory: '1Gi' }) } }),
    ],
    capacity: parseResources({ cpu: '2', memory: '8Gi' }),
    overhead: { kubeReserved: parseResources({ cpu: '100m', memory: '256Mi' }) },
  }
  const capacity = parseResources({ 'example.com/device': '4', 'example.com/own': '9' })
  const pool = { name: 'default', labels: {} }
  const one = overlay({ capacity })
  const { valid } = evaluateOverlays([one], [{ ...pool, types: [type] }], wellKnownLabels)
  const [after = type] = overlaidTypes([type], { pool, overlays: valid }, wellKnownLabels)
  expect(allocatableGroups(after).map((group) => formatResources(group.allocatable))).toEqual([
    { cpu: '1900m', memory: '7936Mi', 'example.com/device': '4', 'example.com/own': '9' },
    { cpu: '1900m', memory: '5888Mi', 'example.com/device': '4', 'example.com/own': '1' },
    { cpu: '1900m', memory: '7Gi', 'example.com/device': '4', 'example.com/own': '9' },
  ])
})
