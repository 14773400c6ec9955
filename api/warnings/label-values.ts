import { knownValues, labels } from '../../core/requirements/labels.ts'
import { type Named, text, texts, type Warning } from './policy.ts'

/** The values that nodes can have of some labels. */
interface LabelValues {
  /** Of the variable in CEL. */
  readonly name: string
  readonly keys: readonly string[]
  /** CEL over `v`: whether it is such a value. */
  readonly test: string
  /** What to write, with an example. */
  readonly remedy: string
  /** Whether comparisons such as `Gt` count, too. */
  readonly compared?: true
}

const azure = (name: string) => `karpenter.azure.com/${name}`
const aks = (name: string) => `kubernetes.azure.com/${name}`
const matches = (pattern: string) => `v.matches(${text(pattern)})`
const wholeNumber = matches('^[0-9]+$')

const lists: readonly LabelValues[] = [...knownValues].map(([key, values], index) => ({
  name: `values${index}`,
  keys: [key],
  test: `v in ${texts(values)}`,
  remedy:
    key === aks('fips_enabled')
      ? 'true, or the operator DoesNotExist'
      : values.length === 1
        ? String(values[0])
        : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`,
}))

/** By the labels that Azure's sizes and zones have (reference/azure-provider.md 2.1). */
const rows: readonly LabelValues[] = [
  ...lists,
  { name: 'os', keys: [labels.os, 'beta.kubernetes.io/os'], test: "v == 'linux'", remedy: 'linux' },
  {
    name: 'arch',
    keys: [labels.arch, 'beta.kubernetes.io/arch'],
    test: "v in ['amd64', 'arm64']",
    remedy: 'amd64 or arm64',
  },
  {
    name: 'zones',
    keys: [labels.zone, 'failure-domain.beta.kubernetes.io/zone', 'topology.disk.csi.azure.com/zone'],
    test: matches('^([a-z][a-z0-9]*-[1-9]|0|)$'),
    remedy: 'the region and the number of the zone, such as eastus-1',
  },
  {
    name: 'regions',
    keys: [labels.region, 'failure-domain.beta.kubernetes.io/region'],
    test: matches('^[a-z][a-z0-9]*$'),
    remedy: "Azure's name of the region, such as eastus",
  },
  {
    name: 'sizes',
    keys: [labels.instanceType, 'beta.kubernetes.io/instance-type', azure('sku-name')],
    test: matches('^(Standard|Basic)_[A-Z]+[0-9]+[A-Za-z0-9_-]*$'),
    remedy: 'names such as Standard_D4s_v5',
  },
  {
    name: 'families',
    keys: [azure('sku-family')],
    test: matches('^[A-Z]$'),
    remedy: `the first letter of a size, such as D or N, or ${azure('sku-series')}, such as NCads_v4`,
  },
  {
    name: 'series',
    keys: [azure('sku-series')],
    test: matches('^[A-Z]+[a-z]*(_v[1-9][0-9]?)?$'),
    remedy: 'names such as Dds_v5 or NCads_v4',
  },
  { name: 'versions', keys: [azure('sku-version')], test: matches('^[1-9][0-9]*$'), remedy: 'the number, such as 5' },
  {
    name: 'cpus',
    keys: [azure('sku-cpu'), aks('sku-cpu')],
    test: wholeNumber,
    remedy: 'whole numbers of vCPUs, such as 4',
  },
  {
    name: 'memory',
    keys: [azure('sku-memory'), aks('sku-memory')],
    test: matches('^(0|[0-9]{4,})$'),
    remedy: 'MiB, such as 16384 for 16 GiB',
    compared: true,
  },
  { name: 'gpuCounts', keys: [azure('sku-gpu-count')], test: wholeNumber, remedy: 'whole numbers of GPUs, such as 1' },
  {
    name: 'gpuNames',
    keys: [azure('sku-gpu-name')],
    // The names of older sizes do not say their GPU.
    test: `${matches('^[A-Z]+[0-9]+[A-Z]*$')} && !(v in ['K80', 'M60', 'P40', 'P100', 'V100', 'MI25', 'MI300X'])`,
    remedy: `the GPU in the name of a size, such as T4 or A100, or ${azure('sku-series')}, such as NCs_v3`,
  },
  {
    name: 'ephemeralDisks',
    keys: [azure('sku-storage-ephemeralos-maxsize')],
    test: wholeNumber,
    remedy: 'GB as a whole number, such as 128',
  },
  {
    name: 'ultraDisks',
    keys: [azure('sku-storage-ultra-ssd')],
    test: "v in ['true', 'false']",
    remedy: 'true or false',
  },
  { name: 'windows', keys: [labels.windowsBuild], test: 'false', remedy: 'no requirement of it: nodes run Linux' },
]

/** Requirements and template labels with their values, as `variables.stated`. In a map the API server takes values of one type only: `dyn`. */
const stated =
  "variables.requirements.filter(r, r.operator in ['In', 'NotIn', 'Gt', 'Lt', 'Gte', 'Lte']).map(r, {'at': dyn('requirements'), 'key': dyn(r.key), 'operator': dyn(r.operator), 'values': dyn(r.values)}) + (has(object.spec.template.metadata) && has(object.spec.template.metadata.labels) ? object.spec.template.metadata.labels.map(k, {'at': dyn('labels'), 'key': dyn(k), 'operator': dyn('='), 'values': dyn([object.spec.template.metadata.labels[k]])}) : [])"

const compares = "r.operator in ['Gt', 'Lt', 'Gte', 'Lte']"

export const labelVariables: Named = {
  stated,
  ...Object.fromEntries(
    rows.map(({ name, keys, test, compared }) => [
      name,
      `variables.stated.filter(r, r.key in ${texts(keys)}${compared ? '' : ` && !(${compares})`} && r.values.exists(v, !(${test})))`,
    ]),
  ),
}

/** Values of well-known labels that no node has, each with a right one. */
export const labelWarnings: readonly Warning[] = rows.map(({ name, test, remedy }) => {
  const first = `variables.${name}[0]`
  const wrong = `${first}.values.filter(v, !(${test}))`
  return {
    because: 'notReady',
    holds: `variables.${name}.size() == 0`,
    message: `(${first}.at == 'labels' ? 'spec.template.metadata.labels: ' : 'spec.template.spec.requirements: ') + ${first}.key + ' ' + ${first}.operator + ' ' + (${wrong}.size() > 5 ? ${wrong}[0] + ' and ' + string(${wrong}.size() - 1) + ' more' : ${wrong}.join(', ')) + ${text(`: not every value is one that a node can have; use ${remedy}`)}`,
  }
})
