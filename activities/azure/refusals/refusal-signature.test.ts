import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { FailureFacts } from '../arm/azure-failure-rules.ts'
import { causeOf, type NamesOfLaunch, refusalSignature } from './refusal-signature.ts'

const facts = (message: string, target?: string): FailureFacts => ({
  code: 'InvalidParameter',
  status: 400,
  text: `${message} {"error":{}}`,
  message,
  ...(target === undefined ? {} : { target }),
})

const size = fc
  .tuple(
    fc.constantFrom('D', 'E', 'NC', 'M'),
    fc.integer({ min: 2, max: 416 }),
    fc.constantFrom('s_v5', 'as_v6', 'ads_A100_v4'),
  )
  .map(([series, vCpus, rest]) => `Standard_${series}${vCpus}${rest}`)
const suffix = fc.string({
  unit: fc.constantFrom(...'bcdfghjklmnpqrstvwxz2456789'.split('')),
  minLength: 5,
  maxLength: 5,
})
const names: fc.Arbitrary<NamesOfLaunch> = fc.record({
  instanceType: size,
  zone: fc.constantFrom('0', 'westus2-1', 'westus2-2', 'westus2-3'),
  image: fc.nat().map((patch) => `/CommunityGalleries/g/images/2204gen2/versions/2026.${patch}.0`),
  nodeClaim: suffix.map((end) => `default-${end}`),
})
/** What Azure may name beside the cause. */
const templates: readonly ((of: NamesOfLaunch, id: string) => string)[] = [
  () => 'The value of parameter securityProfile.securityType is invalid.',
  ({ instanceType }) => `The parameter is not valid (size '${instanceType}').`,
  ({ nodeClaim }) => `VM 'aks-${nodeClaim}' with NIC aks-${nodeClaim}-1 has a property that is unknown.`,
  ({ nodeClaim }, id) =>
    `Resource '/subscriptions/${id}/resourceGroups/mc/providers/Microsoft.Compute/virtualMachines/aks-${nodeClaim}' is refused.`,
  ({ image }) => `The property cannot be set for image ${image}.`,
  (_, id) => `Operation ${id} failed at 2026-11-26T16:30:${id.slice(0, 2)}Z; correlation id: '${id}'.`,
]

describe('two refusals are equal', () => {
  it('whichever size, zone, image and NodeClaim they name', () => {
    fc.assert(
      fc.property(fc.constantFrom(...templates), names, names, fc.uuid(), fc.uuid(), (template, a, b, idA, idB) => {
        expect(refusalSignature(facts(template(a, idA)), a)).toBe(refusalSignature(facts(template(b, idB)), b))
      }),
    )
  })

  it('whatever the case of the size', () => {
    fc.assert(
      fc.property(names, (of) => {
        const said = (name: string) => refusalSignature(facts(`no ${name} here`), of)
        expect(said(of.instanceType.toLowerCase())).toBe(said(of.instanceType.toUpperCase()))
      }),
    )
  })
})

describe('two refusals differ', () => {
  const of: NamesOfLaunch = {
    instanceType: 'Standard_D2s_v5',
    zone: 'westus2-1',
    image: '/g/i',
    nodeClaim: 'default-abcde',
  }
  it.each<[string, FailureFacts, FailureFacts]>([
    ['by their code', facts('no'), { ...facts('no'), code: 'BadRequest' }],
    ['by their target', facts('no', 'securityProfile'), facts('no', 'osProfile')],
    ['by the field in their message', facts('parameter foo is invalid'), facts('parameter bar is invalid')],
    [
      'by their status, where Azure has no code',
      { ...facts('no'), code: '' },
      { ...facts('no'), code: '', status: 422 },
    ],
  ])('%s', (_, one, other) => {
    expect(refusalSignature(one, of)).not.toBe(refusalSignature(other, of))
  })

  it('in what they are, not in which item of a list they name', () => {
    const item = (index: number) => refusalSignature(facts('no', `nics[${index}].name`), of)
    expect(item(0)).toBe(item(3))
  })
})

it('the cause quotes code, target and the first line', () => {
  expect(causeOf(facts('bad value\nmore', 'a.b'))).toBe('InvalidParameter, target a.b: bad value')
  expect(causeOf({ code: '', status: 500, text: 'oops' })).toBe('HTTP 500: oops')
})
