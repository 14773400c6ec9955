import { describe, expect, it } from 'vitest'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { generationOf, isConfidential, isUnfit, parseVmSizeName, seriesOf } from './vm-size-name.ts'

interface NameCase {
  readonly name: string
  readonly parse: {
    readonly family: string
    readonly subfamily: string | null
    readonly cpus: string
    readonly cpusConstrained: string | null
    readonly additiveFeatures: string
    readonly acceleratorType: string | null
    readonly version: string
    readonly promo: boolean
    readonly series: string
    readonly confidentialChild: boolean
  } | null
  readonly skuVersionLabel?: string
  readonly restricted: boolean
  readonly confidential: boolean
}

function parsed(name: string): NameCase['parse'] {
  const parts = parseVmSizeName(name)
  if (parts === undefined) return null
  return {
    family: parts.family,
    subfamily: parts.subfamily || null,
    cpus: String(parts.vCpus),
    cpusConstrained: parts.constrainedVCpus === undefined ? null : String(parts.constrainedVCpus),
    additiveFeatures: parts.features,
    acceleratorType: parts.accelerator ?? null,
    version: parts.version,
    promo: parts.isPromo,
    series: seriesOf(parts),
    confidentialChild: parts.isConfidentialParent,
  }
}

goldenSuite(
  'azure/vmsizes',
  985,
  ({ cases }: { readonly cases: readonly NameCase[] }) => {
    it('every name is read as the reference reads it', () => {
      expect(cases.map(({ name }) => ({ name, parse: parsed(name) }))).toEqual(
        cases.map(({ name, parse }) => ({ name, parse })),
      )
    })

    it('every size has its generation, and is restricted or confidential as the reference says', () => {
      const own = cases.map(({ name }) => {
        const parts = parseVmSizeName(name)
        return {
          name,
          generation: parts && generationOf(parts),
          restricted: isUnfit(name),
          confidential: parts !== undefined && isConfidential(parts),
        }
      })
      expect(own).toEqual(
        cases.map(({ name, skuVersionLabel, restricted, confidential }) => ({
          name,
          generation: skuVersionLabel,
          restricted,
          confidential,
        })),
      )
    })
  },
  { leavesOut: '"known": what no price list names is unknown, whatever it is called' },
)

describe('the name of a VM size', () => {
  it('says what the size is', () => {
    expect(parseVmSizeName('Standard_NC24ads_A100_v4')).toEqual({
      family: 'N',
      subfamily: 'C',
      vCpus: 24,
      features: 'ads',
      accelerator: 'A100',
      version: 'v4',
      isPromo: false,
      isConfidentialParent: false,
    })
  })

  it('may have constrained cores, or fewer in use than it has', () => {
    expect(parseVmSizeName('Standard_DS14-8_v2')).toMatchObject({ vCpus: 14, constrainedVCpus: 8, version: 'v2' })
    expect(parseVmSizeName('Standard_M416s_8_v2')).toMatchObject({ vCpus: 416, features: 's', version: 'v2' })
  })

  it.each(['', 'Standard_', 'Standard_d2s_v3', 'Standard_D2s_v10', 'Standard_D2s_v5_extra'])('"%s" is none', (name) => {
    expect(parseVmSizeName(name)).toBeUndefined()
  })
})
