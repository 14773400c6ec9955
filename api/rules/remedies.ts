// What to write in place of a value that a CRD refuses, where its own message says only what is wrong.
import { refusedKey } from '../../core/node-claim/claim-keys.ts'
import { labels, wellKnownLabels } from '../../core/requirements/labels.ts'
import type { FieldError } from '../../core/values/field-error.ts'
import { isObject } from '../../core/values/json.ts'
import { printable } from '../../core/values/printable.ts'
import { shortened } from '../../core/values/texts.ts'
import { valueAt, valueText } from '../shapes/shape.ts'
import { movedFields } from './moved-fields.ts'
import { similarName } from './similar-name.ts'

type Json = Readonly<Record<string, unknown>>

/** Values of fields that hardly any object has others of, by the end of their path. */
const usual: Readonly<Record<string, string>> = {
  'nodeClassRef.group': 'karpenter.azure.com',
  'nodeClassRef.kind': 'AKSNodeClass',
  'template.spec.nodeClassRef': '{group: karpenter.azure.com, kind: AKSNodeClass, name: default}',
  'template.spec.requirements': '[], which admits every size',
}

/** Returns an error of an object's CRD with its remedy. */
export function withRemedy(kind: string, object: Json, { path, message }: FieldError): FieldError {
  const value = valueAt(object, path)
  const moved = value === undefined ? undefined : movedFields(kind, path)
  if (moved !== undefined) return { path, message: `${valueText(value)}; ${moved}` }
  const remedy = remedyOf(path, value, message)
  return remedy === undefined ? { path, message } : { path, message: `${message}${remedy}` }
}

function remedyOf(path: FieldError['path'], value: unknown, message: string): string | undefined {
  if (message === 'is missing; add it') {
    const example = Object.entries(usual).find(([end]) => path.join('.').endsWith(end))
    return example && `: ${example[1]}`
  }
  const last = path.at(-1)
  if (last === 'key' && message.endsWith('restricted')) return `; ${keyRemedy(String(value))}`
  if (last === 'labels' && isObject(value)) return labelsRemedy(value, message)
  const rule = ruleRemedies.find(({ begins }) => message.startsWith(begins))
  if (rule === undefined) return undefined
  const { isWrong, remedy } = rule
  if (isWrong === undefined) return `; ${remedy({})}`
  const entries: readonly unknown[] = Array.isArray(value) ? value : []
  const at = entries.findIndex((entry) => isObject(entry) && isWrong(entry))
  return at < 0 ? undefined : `; in entry [${at}] ${remedy(entries[at] as Json)}`
}

interface RuleRemedy {
  readonly begins: string
  readonly remedy: (entry: Json) => string
  /** Of a rule about a list: the entry that breaks it. Unset: the rule is about an object. */
  readonly isWrong?: (entry: Json) => boolean
}

const compared: ReadonlySet<unknown> = new Set(['Gt', 'Lt', 'Gte', 'Lte'])
const valuesOf = ({ values }: Json): readonly unknown[] => (Array.isArray(values) ? values : [])
const ofKey = ({ key }: Json) => `of ${shownText(String(key))}`

/** Remedies for the CRDs' rules, by the beginning of their messages, which are upstream's. */
const ruleRemedies: readonly RuleRemedy[] = [
  {
    begins: "requirements with operator 'In'",
    isWrong: (entry) => entry['operator'] === 'In' && valuesOf(entry).length === 0,
    remedy: (entry) => `${ofKey(entry)} write a value, or operator: Exists`,
  },
  {
    begins: "requirements operator 'Gt'",
    isWrong: (entry) => compared.has(entry['operator']) && !/^\d+$/.test(valuesOf(entry).join(',')),
    remedy: (entry) => `${ofKey(entry)} write one whole number in quotes, such as values: ["4"]`,
  },
  {
    begins: "requirements with 'minValues'",
    isWrong: (entry) => entry['operator'] === 'In' && Number(entry['minValues'] ?? 0) > valuesOf(entry).length,
    remedy: (entry) => `${ofKey(entry)} write more values, or a smaller minValues`,
  },
  {
    begins: "'schedule' must be set",
    isWrong: ({ schedule, duration }) => (schedule === undefined) !== (duration === undefined),
    remedy: ({ schedule }) =>
      schedule === undefined ? 'add a schedule such as "0 9 * * *"' : 'add a duration such as 8h',
  },
  {
    begins: 'consolidateAfter cannot',
    remedy: () => 'remove consolidateAfter, or write consolidationPolicy: WhenEmpty',
  },
  { begins: 'consolidateAfter must', remedy: () => 'add it, such as consolidateAfter: 30s' },
  { begins: "'weight' is not", remedy: () => 'remove weight, or replicas' },
  { begins: "only 'limits.nodes'", remedy: () => 'write limits: {nodes: ...} alone, or remove replicas' },
]

/** Labels that have another name, or none. */
const otherKeys: Readonly<Record<string, string>> = {
  [labels.hostname]: 'remove it: names of nodes are made up',
  [labels.nodePool]: "remove it: every node has its NodePool's name",
  'karpenter.azure.com/sku-accelerator': 'write karpenter.azure.com/sku-gpu-name',
  'karpenter.azure.com/sku-encryptionathost-capable': 'write security.encryptionAtHost in the AKSNodeClass',
  'karpenter.azure.com/sku-hyperv-generation': 'remove it: the image decides',
  'karpenter.azure.com/zone': 'write topology.kubernetes.io/zone',
}

/** What to write in place of a label key that is kept for Karpenter or AKS. */
function keyRemedy(key: string): string {
  const known = Object.hasOwn(otherKeys, key) ? otherKeys[key] : undefined
  if (known !== undefined) return known
  const owner = key.split('/')[0] ?? ''
  const name = key.slice(owner.length + 1)
  const ofOwner = [...wellKnownLabels].filter((one) => one.startsWith(`${owner}/`) && refusedKey(one) === undefined)
  const similar = similarName(
    name,
    ofOwner.map((one) => one.slice(owner.length + 1)),
  )
  if (similar !== undefined) return `write ${owner}/${similar}`
  return 'remove it, or write a key of your own, such as example.com/pool'
}

function labelsRemedy(value: Json, message: string): string | undefined {
  const key = Object.keys(value).find((one) =>
    one === labels.nodePool ? message.includes(labels.nodePool) : refusedKey(one) === message,
  )
  return key === undefined ? undefined : `${message.includes(key) ? '' : ` (${shownText(key)})`}; ${keyRemedy(key)}`
}

const shownText = (text: string) => printable(shortened(text))
