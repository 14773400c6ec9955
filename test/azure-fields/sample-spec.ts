import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** A schema of a CRD, as far as values follow from it. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly enum?: readonly string[]
  readonly type?: string
  readonly minimum?: number
}

interface Crd {
  readonly spec: {
    readonly versions: readonly {
      readonly name: string
      readonly schema: { readonly openAPIV3Schema: { readonly properties: { readonly spec: Schema } } }
    }[]
  }
}

/** Texts whose form a pattern prescribes. */
const texts: Readonly<Record<string, string>> = {
  swapFileSize: '2Gi',
  containerLogMaxSize: '50Mi',
  cpuCFSQuotaPeriod: '50ms',
  cacheDuration: '1h',
  serveStaleDuration: '1h',
  netIPv4IPLocalPortRange: '1024 60999',
}

const [{ schema }] = (
  parse(
    readFileSync(new URL('../../deploy/crds/karpenter.azure.com_aksnodeclasses.yaml', import.meta.url), 'utf8'),
  ) as Crd
).spec.versions.filter(({ name }) => name === 'v1beta1') as [Crd['spec']['versions'][number]]

/** Returns the spec of an AKSNodeClass that has every field of the CRD; successive indexes go through the values of enums. */
export function sampleSpec(index: number): Readonly<Record<string, unknown>> {
  return sample(schema.openAPIV3Schema.properties.spec, '', index) as Readonly<Record<string, unknown>>
}

function sample(of: Schema, name: string, index: number): unknown {
  if (of.enum !== undefined) return of.enum[index % of.enum.length]
  if (of.properties !== undefined)
    return Object.fromEntries(Object.entries(of.properties).map(([key, inner]) => [key, sample(inner, key, index)]))
  if (of.items !== undefined) return [sample(of.items, name, index)]
  switch (of.type) {
    case 'integer':
      return of.minimum ?? 1
    case 'boolean':
      return index % 2 === 0
    case 'object':
      return { name: 'a' }
    default:
      return texts[name] ?? 'a'
  }
}
