import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseScenario } from './scenario.ts'

const wrong = (yaml: string) => {
  try {
    parseScenario(yaml, 'storm.yaml')
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was read')
}

describe('a scenario', () => {
  it('says what happens when', () => {
    const { steps } = parseScenario(
      `# a bad hour
steps:
  - at: 0
    settings:
      quotas: { cores: 100 }
      pools: [{ zone: 1, vms: 3 }]
      restrictions: [{ sku: Standard_D2s_v5, zones: [2, '3'] }]
      createMs: { kind: lognormal, p50Ms: 30000, p99Ms: 90000 }
  - at: 1.5m
    faults:
      - { kind: failSync, code: AllocationFailed, match: { zone: 2 }, probability: 0.3 }
    vms:
      - { do: evict, share: 0.5 }
`,
      'storm.yaml',
    )
    expect(steps).toMatchObject([
      {
        atMs: 0,
        line: 3,
        settings: { pools: [{ zone: '1', vms: 3 }], restrictions: [{ zones: ['2', '3'] }] },
      },
      { atMs: 90_000, line: 9, faults: [{ match: { zone: '2' } }], vms: [{ do: 'evict', share: 0.5 }] },
    ])
  })

  it('in the documentation can be played', () => {
    const text = readFileSync(new URL('../../../../docs/simulator.md', import.meta.url), 'utf8')
    const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(text) ?? []
    const { steps } = parseScenario(yaml, 'simulator.md')
    expect(steps.map(({ atMs }) => atMs / 60_000)).toEqual([0, 10, 20, 40])
    expect(() => parseScenario(yaml.replace('vCpus: 64', 'vCpus: many'), 'storm.yaml')).toThrow(
      'storm.yaml:11: steps[1].settings.pools[0].vCpus is "many": write a number of 0 or more',
    )
  })

  it.each([
    ['steps:\n  - at: soon\n', 'storm.yaml:2: steps[0].at is "soon": write a time from the start'],
    [
      'steps:\n  - at: 1s\n    fauts: []\n',
      'storm.yaml:3: steps[0].fauts is []: use one of the fields at, clearFaults',
    ],
    ['steps:\n  - settings: {}\n', 'storm.yaml:2: steps[0].at is missing: add it'],
    [
      'steps:\n  - at: 1s\n    settings:\n      quotas:\n        cores: many\n',
      'storm.yaml:5: steps[0].settings.quotas.cores is "many": write a number',
    ],
    [
      'steps:\n  - at: 1s\n    faults:\n      - kind: failSync\n',
      'storm.yaml:4: steps[0].faults[0].code is missing: add it',
    ],
    [
      'steps:\n  - at: 1s\n    vms: [{ do: explode }]\n',
      'storm.yaml:3: steps[0].vms[0].do is "explode": use evict, delete, stop, freeze',
    ],
    ['steps: [\n', 'storm.yaml:2:'],
    ['', 'storm.yaml:1: the scenario is empty'],
  ])('that is wrong is refused with its line: %j', (yaml, message) => {
    expect(wrong(yaml)).toContain(message)
  })
})
