import { z } from 'zod'
import {
  aksOwnKeys,
  aksOwnRefusal,
  domainRefusal,
  hostnameRefusal,
  restrictedDomains,
} from '../core/node-claim/claim-keys.ts'
import { labels } from '../core/requirements/labels.ts'

/** Extensions of a CRD's schema that JSON Schema does not have; `deploy/generate-crds.ts` writes them out as `x-kubernetes-*`. */
export interface CrdExtensions {
  readonly cel?: readonly { readonly rule: string; readonly message: string; readonly reason?: string }[]
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly mapType?: 'granular' | 'atomic'
  /** Fields that are required although they have a default, which the API server fills in first. */
  readonly required?: readonly string[]
  /** A resource quantity: a number or a text. */
  readonly quantity?: boolean
}

export const crdExtensions = z.registry<CrdExtensions>()

const quantityPattern =
  /^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$/

/** A Kubernetes quantity such as `500m` or `4Gi`. */
const quantityField = z
  .string()
  .regex(quantityPattern, 'write a quantity such as 500m or 2Gi')
  .register(crdExtensions, { quantity: true })

export const resourceList = z.record(z.string(), quantityField)

const qualifiedName =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const nameRemedy = 'write letters and digits, with "-", "_" and "." between, and a domain and "/" before if it has one'
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

export const durationField = (example: string) =>
  z
    .string()
    .regex(/^([0-9]+(s|m|h))+$/, `write hours, minutes and seconds, such as ${example}`)
    .describe(`A duration such as ${example}.`)
export const nillableDuration = z
  .string()
  .regex(/^(([0-9]+(s|m|h))+|Never)$/, 'write hours, minutes and seconds, such as 720h, or Never')

const conditionType =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$/
const reason = z.string().max(1024).describe("Machine-readable reason for the last change of the condition's status.")
const message = z.string().max(32768).describe('Human-readable details: what is wrong, and the remedy.')

const conditionField = z.object({
  type: z.string().max(316).regex(conditionType).describe('Type of the condition, such as Ready.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Status of the condition: True, False or Unknown.'),
  reason: reason.min(1).regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/),
  message,
  lastTransitionTime: z.string().meta({ format: 'date-time' }).describe('Time of the last change of the status.'),
  observedGeneration: z
    .int()
    .min(0)
    .optional()
    .meta({ format: 'int64' })
    .describe(
      'The metadata.generation that was looked at; an older one means that the newest spec was not judged yet.',
    ),
})

// Some clouds' errors leave a NodeClaim's condition without reason or message, and upstream accepts them.
const lenientConditionField = conditionField.extend({
  reason: reason.regex(/^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$/).optional(),
  message: message.optional(),
})

const conditionsByType = <T extends z.ZodType>(field: T) =>
  z
    .array(field)
    .describe('Conditions of the object. Ready summarizes the others.')
    .register(crdExtensions, { listType: 'map', listMapKeys: ['type'] })

export const conditionList = conditionsByType(conditionField)
export const lenientConditionList = conditionsByType(lenientConditionField)

const taintEffect = z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])

export const taintField = z.object({
  key: z.string().min(1).regex(qualifiedName, nameRemedy).describe('Taint key, with or without a domain.'),
  value: z.string().regex(qualifiedName, nameRemedy).optional().describe('Taint value.'),
  effect: taintEffect.describe(
    'What happens to pods that do not tolerate the taint: NoSchedule keeps them away, PreferNoSchedule does so where there is a choice, NoExecute also evicts them.',
  ),
  timeAdded: z
    .string()
    .optional()
    .meta({ format: 'date-time' })
    .describe('Time at which the taint was added. Set for NoExecute taints only.'),
})

/** How many of a pool's nodes a disruption budget allows. */
export const budgetNodes = z
  .string()
  .regex(/^((100|[0-9]{1,2})%|[0-9]+)$/, 'write a number such as "5", or a percentage from 0% to 100%')
  .default('10%')
  .describe(
    "How many of the pool's nodes may be under disruption at once: a number such as 5, or a percentage such as 10%, rounded up. 0 forbids disruption. Nodes that are not ready count as disrupted.",
  )

/** For the API server alone: on 300 characters JavaScript would run for minutes. The runtime validation checks a schedule's meaning. */
const schedulePattern = String.raw`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$`

/** When a budget begins to apply: a word such as @daily, or five cron fields. */
export const budgetSchedule = z
  .string()
  .meta({ pattern: schedulePattern })
  .describe(
    'When the budget begins to hold: five cron fields in UTC, such as "0 9 * * mon-fri", or a word such as @daily. Goes with duration; without both the budget always holds.',
  )

/** How long it applies: hours and minutes. */
export const budgetDuration = z
  .string()
  .regex(/^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$/, 'write hours and minutes, such as 8h or 1h30m')
  .describe(
    'Duration that the budget is active after each hit of its schedule, in hours and minutes such as 8h or 1h30m.',
  )

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'] as const

const list = (values: readonly string[]) => `[${values.map((value) => `"${value}"`).join(', ')}]`

const nodePoolRule = (key: string): readonly [string, string] => [
  `${key} != "karpenter.sh/nodepool"`,
  'label "karpenter.sh/nodepool" is restricted',
]

/** Returns CEL over one label key, by the name of the variable that holds it (reference/karpenter-core.md 1.1, reference/azure-provider.md 1.7). */
function keyRules(key: string, options: { readonly nodePoolAllowed: boolean }, each: (rule: string) => string) {
  const domain = ({ domain: name, allowed }: (typeof restrictedDomains)[number]): readonly [string, string] => [
    `${key} in ${list(allowed)} || !${key}.find("^([^/]+)").endsWith("${name}")`,
    domainRefusal(name),
  ]
  const [karpenter, ...providers] = restrictedDomains.map(domain)
  const rules: readonly (readonly [string, string])[] = [
    ...(karpenter === undefined ? [] : [karpenter]),
    ...(options.nodePoolAllowed ? [] : [nodePoolRule(key)]),
    [`${key} != "${labels.hostname}"`, hostnameRefusal],
    ...providers,
    ...aksOwnKeys.map((name): readonly [string, string] => [`${key} != "${name}"`, aksOwnRefusal(name)]),
  ]
  return rules.map(([rule, message]) => ({ rule: each(rule), message }))
}

const needValue = (operator: string) => ({
  rule: `self.all(x, x.operator == '${operator}' ? x.values.size() != 0 : true)`,
  message: `requirements with operator '${operator}' must have a value defined`,
})
const oneInteger = {
  rule: "self.all(x, (x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
  message: "requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value",
}

function requirementEntry(options: { readonly nodePoolAllowed: boolean }) {
  const key = z
    .string()
    .max(316)
    .regex(qualifiedName, nameRemedy)
    .describe('Label key, such as karpenter.azure.com/sku-family or topology.kubernetes.io/zone.')
  return z.object({
    key: key.register(crdExtensions, { cel: keyRules('self', options, (rule) => rule) }),
    operator: z
      .enum(operators)
      .describe(
        "How the label's value relates to the values: In and NotIn compare texts, Exists and DoesNotExist take no value, Gt, Gte, Lt and Lte compare with one integer.",
      ),
    // The runtime validation reports values that are no label values, with its own message.
    values: z
      .array(z.string())
      .optional()
      .describe('Label values. In requires at least one value, Gt, Gte, Lt and Lte exactly one.')
      .register(crdExtensions, { listType: 'atomic' }),
  })
}

/** Requirement entries; a NodeClaim's may name its pool, a NodePool's may not. */
export function requirementList(options: { readonly nodePoolAllowed: boolean }) {
  const entry = requirementEntry(options).extend({
    minValues: z
      .int()
      .min(1)
      .max(50)
      .optional()
      .describe(
        'How many different values of the key the instance types to choose from must have between them, to keep the choice wide.',
      ),
  })
  return z
    .array(entry)
    .max(100)
    .register(crdExtensions, {
      listType: 'atomic',
      cel: [
        needValue('In'),
        oneInteger,
        {
          rule: "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
          message: "requirements with 'minValues' must have at least that many values specified in the 'values' field",
        },
      ],
    })
}

/** Requirement entries of a NodeOverlay: no minimum of values, and NotIn needs values too. */
export const overlayRequirementList = z
  .array(requirementEntry({ nodePoolAllowed: true }))
  .max(100)
  .register(crdExtensions, { listType: 'atomic', cel: [needValue('NotIn'), needValue('In'), oneInteger] })

/** Labels of a NodePool's template. */
export const templateLabels = z
  .record(z.string(), z.string().max(63).regex(labelValue, 'write letters and digits, with "-", "_" and "." between'))
  .meta({ maxProperties: 100 })
  .describe('Labels applied to the nodes. Keys that Karpenter or AKS manages are rejected.')
  .register(crdExtensions, {
    mapType: 'atomic',
    cel: keyRules('x', { nodePoolAllowed: false }, (rule) => `self.all(x, ${rule})`),
  })

export const nodeClassRef = z.object({
  group: z
    .string()
    .min(1)
    .regex(/^[^/]*$/, 'write the group without a version: karpenter.azure.com')
    .describe('API group of the node class: karpenter.azure.com.'),
  kind: z.string().min(1).describe('Kind of the node class: AKSNodeClass.'),
  name: z.string().min(1).describe('Name of the AKSNodeClass.'),
})
