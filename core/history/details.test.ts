import { describe, expect, test } from 'vitest'
import { type DetailedLife, lifecycleDetails } from './details.ts'
import { unknownFacts } from './record.ts'

const start = Date.UTC(2026, 0, 1)
const life: DetailedLife = {
  nodeClaim: 'general-7kq2x',
  facts: {
    ...unknownFacts(start),
    nodePool: 'general',
    node: 'aks-general-7kq2x',
    vms: [
      {
        instanceType: 'Standard_D4s_v5',
        zone: 'westus2-2',
        capacityType: 'spot',
        pricePerHour: 0.0543,
        fromMs: start + 1000,
      },
    ],
    came: { kind: 'pods', pods: 12 },
    attempts: 2,
  },
  phase: 'Ready',
  sinceMs: start + 50_000,
  waitingFor: 'a change',
  outcomes: [{ atMs: start + 1000, what: 'D4s_v5 spot westus2-2 launched, $0.0543 an hour' }],
}

test('the details of a node that rests say what it is, why it exists, what happened and what to type', () => {
  expect(lifecycleDetails(life)).toBe(`**Ready since 2026-01-01T00:00:50Z**

- Waits for a change
- Node aks-general-7kq2x
- NodePool general
- VM Standard\\_D4s\\_v5 spot westus2-2, \\$0.054 an hour
- Exists for 12 pods
- 2 launch attempts

**What happened**

- 2026-01-01T00:00:01Z D4s\\_v5 spot westus2-2 launched, \\$0.0543 an hour

**To type**

- \`joiner why node aks-general-7kq2x\`
- \`joiner node hold general-7kq2x --until 2h --reason WHY\`
- \`joiner history node general-7kq2x\``)
})

describe('the details', () => {
  test.each<[string, Partial<DetailedLife>, RegExp]>([
    [
      'of a launch',
      { phase: 'Launching', facts: unknownFacts(start) },
      /\n- Created by hand or by another controller\n/,
    ],
    [
      'of a retried launch',
      { phase: 'Launching', waitingFor: 'a VM', lastCapacityFailure: 'no room' },
      /^\*\*Launching since 2026-01-01T00:00:50Z: a VM\*\*\n[^]*\n- Last failed launch: no room\n[^]*\n- try at once: `joiner node retry general-7kq2x`\n/,
    ],
    [
      'of a replacement',
      { facts: { ...life.facts, came: { kind: 'replacement', command: 'drift-1', replaces: ['a', 'b'] } } },
      /\n- Replaces a, b \\\(command drift-1\\\)\n/,
    ],
    [
      'of a held node',
      { hold: 'held until released by alice: debugging' },
      /^\*\*Ready since 2026-01-01T00:00:50Z: held until released by alice: debugging\*\*\n[^]*\n- end the hold: `joiner node release general-7kq2x`\n/,
    ],
    [
      'of a lifecycle whose cancellation was refused',
      { refused: 'the NodeClaim is held until released' },
      /\n- Refused: the NodeClaim is held until released\n/,
    ],
    [
      'of a drain',
      {
        phase: 'Draining',
        waitingFor: 'pods to leave the Node',
        leaves: 'expired at X',
      },
      /^\*\*Draining since 2026-01-01T00:00:50Z: expired at X: pods to leave the Node\*\*\n[^]*kubectl get pods -A --field-selector spec.nodeName=aks-general-7kq2x/,
    ],
    [
      'of a drain that a PodDisruptionBudget holds',
      {
        phase: 'Draining',
        drain: {
          on: ['a', 'b'].map((pod) => ({
            what: `evicting pod violates a PDB (Pod=shop/${pod}, PodDisruptionBudget=[shop/web])`,
            sinceMs: start,
          })),
          more: 0,
        },
      },
      /\*\*What helps\*\*\n\n- `kubectl edit pdb --namespace shop web`\n- as a last resort, without eviction: `joiner node force-finish general-7kq2x --reason WHY`\n\n/,
    ],
    [
      'of an ended lifecycle',
      { phase: 'Gone' },
      /^\*\*Gone since 2026-01-01T00:00:50Z\*\*\n[^]*\*\*To type\*\*\n\n- `joiner history node general-7kq2x`$/,
    ],
  ])('%s', (_, change, expected) => {
    expect(lifecycleDetails({ ...life, ...change })).toMatch(expected)
  })

  test('escape what comes from the cluster', () => {
    const hostile = '[x](javascript:1) <script> `a` \u001b[2J\n# big'
    const text = lifecycleDetails({
      ...life,
      waitingFor: hostile,
      hold: hostile,
      refused: hostile,
      lastCapacityFailure: hostile,
    })
    expect(text).not.toMatch(/[^\\][[<]/)
    expect(text).not.toContain('\u001b')
    expect(text).not.toMatch(/^# big/m)
  })

  test('have an end, whatever is waited for', () => {
    expect(lifecycleDetails({ ...life, waitingFor: 'x'.repeat(100_000) }).length).toBeLessThan(3000)
  })
})
