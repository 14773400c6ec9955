// What to write in place of a value that a CRD refuses, where its own message says only what is wrong.
import { refusedKey } from '../../core/node-claim/claim-keys.ts'
import { labels, wellKnownLabels } from '../../core/requirements/labels.ts'
import type { FieldError } from '../../core/values/field-error.ts'
import { isObject } from '../../core/values/json.ts'
import { printable } from '../../core/values/printable.ts'
import { shortened } from '../../core/values/shortened.ts'
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
  if (last === 'requirements' && Array.isArray(value))
    return entriesRemedy(value, isWrongRequirement, requirementRemedy)
  if (message.startsWith("'schedule'") && Array.isArray(value)) return entriesRemedy(value, isHalfWindow, windowRemedy)
  return undefined
}

/** Labels that have another name, or none. */
const otherKeys: Readonly<Record<string, string>> = {
  [labels.hostname]: 'remove it: names of nodes are made up',
  [labels.nodePool]: "remove it: every node has its NodePool's name",
  'karpenter.azure.com/sku-accelerator': 'write karpenter.azure.com/sku-gpu-name',
  'karpenter.azure.com/sku-encryptionathost-capable': 'write security.encryptionAtHost in the AKSNodeClass',
  'karpenter.azure.com/sku-hyperv-generation': 'remove it: the image decides',
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
  return key === undefined ? undefined : ` (${shownText(key)}); ${keyRemedy(key)}`
}

function entriesRemedy(
  entries: readonly unknown[],
  isWrong: (entry: Json) => boolean,
  remedyOfEntry: (entry: Json) => string,
): string | undefined {
  const at = entries.findIndex((entry) => isObject(entry) && isWrong(entry))
  return at < 0 ? undefined : `; in entry [${at}] ${remedyOfEntry(entries[at] as Json)}`
}

function isWrongRequirement({ operator, values, minValues }: Json): boolean {
  const list: readonly unknown[] = Array.isArray(values) ? values : []
  if (operator === 'In') return list.length === 0 || (typeof minValues === 'number' && list.length < minValues)
  return ['Gt', 'Lt', 'Gte', 'Lte'].includes(String(operator)) && !(list.length === 1 && /^\d+$/.test(String(list[0])))
}

function requirementRemedy({ key, operator, values, minValues }: Json): string {
  const subject = `of ${shownText(String(key))}`
  if (operator !== 'In') return `${subject} write one whole number in quotes, such as values: ["4"]`
  if (Array.isArray(values) && values.length > 0)
    return `${subject} write minValues: ${values.length}, or ${String(minValues)} values`
  return `${subject} write a value, or operator: Exists`
}

const isHalfWindow = ({ schedule, duration }: Json) => (schedule === undefined) !== (duration === undefined)

function windowRemedy({ schedule }: Json): string {
  return schedule === undefined ? 'add a schedule such as "0 9 * * *"' : 'add a duration such as 8h'
}

const shownText = (text: string) => printable(shortened(text))
