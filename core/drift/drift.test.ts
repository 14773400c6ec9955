import { describe, expect, it } from 'vitest'
import { sampleClaim, sampleCondition } from '../../test/samples/sample-objects.ts'
import type { Condition } from '../objects.ts'
import { azureDriftChange, type Drift, firstDrift, poolDriftChange } from './drift.ts'

const none: Drift = { kind: 'none' }
const unknown: Drift = { kind: 'unknown', message: '' }
const image: Drift = { kind: 'drifted', reason: 'ImageDrift', message: 'm' }
const hash: Drift = { kind: 'drifted', reason: 'NodePoolDrifted', message: 'm' }
const launched = sampleCondition('Launched')
const before = (reason: string, message = 'm'): Condition => ({ ...sampleCondition('Drifted'), reason, message })
const claim = (conditions: readonly Condition[]) => sampleClaim('n', { status: { conditions } })
const set = (reason: string) => ({ conditions: [{ type: 'Drifted', status: 'True', reason, message: 'm' }] })
const cleared = { clear: ['Drifted'] }
const relaunching: Condition = { ...launched, status: 'Unknown' }

describe('the condition Drifted by the AKSNodeClass', () => {
  it.each<[string, readonly Condition[], Drift, unknown]>([
    ['comes', [launched], image, set('ImageDrift')],
    ['stays as it is', [launched, before('ImageDrift')], image, undefined],
    ['takes another reason', [launched, before('NodeClassDrift')], image, set('ImageDrift')],
    ['takes another message', [launched, before('ImageDrift', 'other')], image, set('ImageDrift')],
    ['goes', [launched, before('ImageDrift')], none, cleared],
    ['does not come', [launched], none, undefined],
    ['stays when it cannot be reported', [launched, before('ImageDrift')], unknown, undefined],
    ["stays when it is the pool's", [launched, before('NodePoolDrifted')], none, undefined],
    ["does not take the place of the pool's", [launched, before('RequirementsDrifted')], image, undefined],
    ['goes when nobody knows its reason', [launched, before('SomethingElse')], none, cleared],
    ['goes when the claim is launched again', [relaunching, before('ImageDrift')], image, cleared],
    ['goes then, whoever set it', [relaunching, before('NodePoolDrifted')], none, cleared],
    ['does not come before the launch', [], image, undefined],
  ])('%s', (_, conditions, drift, expected) => {
    expect(azureDriftChange(claim(conditions), drift)).toEqual(expected)
  })
})

describe('the condition Drifted by the NodePool', () => {
  it.each<[string, readonly Condition[], Drift, Drift, unknown]>([
    ['comes', [launched], hash, none, set('NodePoolDrifted')],
    ['stays as it is', [launched, before('NodePoolDrifted')], hash, none, undefined],
    ['takes another reason', [launched, before('RequirementsDrifted')], hash, none, set('NodePoolDrifted')],
    ["takes the place of Azure's", [launched, before('ImageDrift')], hash, image, set('NodePoolDrifted')],
    ["leaves Azure's alone", [launched, before('ImageDrift')], none, none, undefined],
    ['does not come', [launched], none, image, undefined],
    ['goes', [launched, before('NodePoolDrifted')], none, none, cleared],
    ["gives way to Azure's", [launched, before('NodePoolDrifted')], none, image, set('ImageDrift')],
    ["goes when Azure's cannot be reported", [launched, before('NodePoolDrifted')], none, unknown, cleared],
    ['stays while types are not known', [launched, before('InstanceTypeNotFound')], unknown, none, undefined],
    ['goes although types are not known', [launched, before('NodePoolDrifted')], unknown, none, cleared],
    ['does not come while types are not known', [launched], unknown, image, undefined],
    ['goes when the claim is launched again', [relaunching, before('NodePoolDrifted')], hash, none, cleared],
    ['does not come before the launch', [], hash, none, undefined],
  ])('%s', (_, conditions, pool, azure, expected) => {
    expect(poolDriftChange(claim(conditions), pool, () => azure)).toEqual(expected)
  })

  it("does not evaluate Azure's drift when it could change nothing", () => {
    const asked = () => {
      throw new Error('asked')
    }
    for (const conditions of [[launched], [launched, before('ImageDrift')], [relaunching]])
      expect(() => poolDriftChange(claim(conditions), none, asked)).not.toThrow()
  })
})

it('two writers come to rest, whichever goes first and however often', () => {
  const all = [none, unknown, image, hash]
  const after = (conditions: readonly Condition[], change: ReturnType<typeof azureDriftChange>) => {
    if (change === undefined) return conditions
    return 'clear' in change ? [launched] : [launched, ...(change.conditions as readonly Condition[])]
  }
  const starts = [[launched], ...['ImageDrift', 'NodePoolDrifted', 'Other'].map((reason) => [launched, before(reason)])]
  for (const start of starts)
    for (const pool of all.filter((drift) => drift !== image))
      for (const azure of all.filter((drift) => drift !== hash)) {
        let conditions: readonly Condition[] = start
        const both = () => {
          conditions = after(conditions, azureDriftChange(claim(conditions), azure))
          conditions = after(
            conditions,
            poolDriftChange(claim(conditions), pool, () => azure),
          )
        }
        both()
        both()
        const rest = conditions
        both()
        expect(conditions).toEqual(rest)
        expect(azureDriftChange(claim(rest), azure)).toBeUndefined()
      }
})

describe('drift in all', () => {
  it.each<[string, Drift, Drift, Drift]>([
    ["the pool's comes first", hash, image, hash],
    ["then Azure's", none, image, image],
    ['what is not known hides nothing', unknown, image, image],
    ['one that cannot be reported leaves all open', unknown, none, unknown],
    ['neither can the other', none, unknown, unknown],
    ['none', none, none, none],
  ])('%s', (_, pool, azure, expected) => {
    expect(firstDrift(pool, azure)).toEqual(expected)
  })
})
