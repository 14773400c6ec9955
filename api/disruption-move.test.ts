import { expect, it } from 'vitest'
import { boundedVerdict, formatVerdict, type Verdict } from '../core/disruption/verdicts/verdict.ts'
import { sampleCauses } from '../test/samples/sample-causes.ts'
import { parseEvaluations } from './disruption-move.ts'

const read = (stored: string) => parseEvaluations({ 'a-claim': stored }).verdicts.get('a-claim')

const verdict: Verdict = {
  nodeClaim: 'a-claim',
  node: 'a',
  nodePool: 'p',
  since: '2026-01-01T00:00:00Z',
  price: 0.4,
  moves: Object.values(sampleCauses).map((cause) => ({
    methods: ['drift', 'single-node'],
    outcome: 'hindered',
    cause,
    savingsForgone: 0.1,
  })),
}

it('a stored verdict is read as it was written, whole or cut', () => {
  expect(read(formatVerdict(verdict))).toEqual(verdict)
  const cut = boundedVerdict(verdict, 5)
  expect(read(formatVerdict(cut))).toEqual(cut)
})

it.each([
  ['no JSON', ''],
  ['no object', 'null'],
  ['a move without its cause', '{"nodePool":"p","since":"s","moves":[{"methods":["drift"],"outcome":"blocked"}]}'],
  [
    'a cause of another version',
    '{"nodePool":"p","since":"s","moves":[{"methods":["drift"],"outcome":"blocked","cause":{"kind":"other"}}]}',
  ],
  [
    'a cause without its facts',
    '{"nodePool":"p","since":"s","moves":[{"methods":["drift"],"outcome":"blocked","cause":{"kind":"pdb","pod":"a/b"}}]}',
  ],
])('%s is none', (_, stored) => {
  expect(read(stored)).toBeUndefined()
})
