import { z } from 'zod'

/**
 * Extensions of a CRD's schema that JSON Schema has no word for; `deploy/generate-crds.ts` writes them out as `x-kubernetes-*`.
 */
export interface CrdExtensions {
  readonly cel?: readonly { readonly rule: string; readonly message: string; readonly reason?: string }[]
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly mapType?: 'granular' | 'atomic'
  /** A resource quantity: a number or a text. */
  readonly quantity?: boolean
}

export const crdExtensions = z.registry<CrdExtensions>()

const quantityPattern =
  /^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$/

/** A Kubernetes quantity such as `500m` or `4Gi`. */
const quantityField = z.string().regex(quantityPattern).register(crdExtensions, { quantity: true })

export const resourceList = z.record(z.string(), quantityField)

const qualifiedName =
  /^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

export const durationField = (example: string) =>
  z
    .string()
    .regex(/^([0-9]+(s|m|h))+$/)
    .describe(`A duration such as ${example}.`)
export const nillableDuration = z.string().regex(/^(([0-9]+(s|m|h))+|Never)$/)

const conditionField = z.object({
  type: z.string().max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024),
  message: z.string().max(32768),
  lastTransitionTime: z.string().meta({ format: 'date-time' }),
  observedGeneration: z.int().min(0).optional().meta({ format: 'int64' }),
})

export const conditionList = z.array(conditionField)

const taintEffect = z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])

export const taintField = z.object({
  key: z.string().min(1).regex(qualifiedName).describe('The taint key to be applied to a node.'),
  value: z.string().regex(qualifiedName).optional().describe('The value that belongs to the key.'),
  effect: taintEffect.describe('What happens to pods that do not tolerate the taint.'),
  timeAdded: z.string().optional().meta({ format: 'date-time' }),
})

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'] as const

const azureKeys = [
  'aksnodeclass',
  'sku-name',
  'sku-family',
  'sku-series',
  'sku-version',
  'sku-cpu',
  'sku-memory',
  'sku-networking-accelerated',
  'sku-storage-premium-capable',
  'sku-storage-ultra-ssd',
  'sku-storage-ephemeralos-maxsize',
  'sku-gpu-name',
  'sku-gpu-manufacturer',
  'sku-gpu-count',
  'placement-scope',
].map((name) => `karpenter.azure.com/${name}`)

const aksKeys = [
  'mode',
  'scalesetpriority',
  'priority',
  'fips_enabled',
  'os-sku',
  'cluster',
  'sku-cpu',
  'sku-memory',
  'ebpf-dataplane',
  'ebpf-host-routing',
  'network-policy',
  'hostedvm',
].map((name) => `kubernetes.azure.com/${name}`)

const list = (values: readonly string[]) => `[${values.map((value) => `"${value}"`).join(', ')}]`

/** CEL over one label key, by the name of the variable that holds it (reference/karpenter-core.md 1.1, reference/azure-provider.md 1.7). */
function keyRules(key: string, options: { readonly nodePoolAllowed: boolean }, each: (rule: string) => string) {
  const rules = [
    [
      `${key} in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || !${key}.find("^([^/]+)").endsWith("karpenter.sh")`,
      'label domain "karpenter.sh" is restricted',
    ],
    ...(options.nodePoolAllowed
      ? []
      : [[`${key} != "karpenter.sh/nodepool"`, 'label "karpenter.sh/nodepool" is restricted']]),
    [`${key} != "kubernetes.io/hostname"`, 'label "kubernetes.io/hostname" is restricted'],
    [
      `${key} in ${list(azureKeys)} || !${key}.find("^([^/]+)").endsWith("karpenter.azure.com")`,
      'label domain "karpenter.azure.com" is restricted',
    ],
    [
      `${key} in ${list(aksKeys)} || !${key}.find("^([^/]+)").endsWith("kubernetes.azure.com")`,
      'label domain "kubernetes.azure.com" is restricted',
    ],
    [
      `!(${key} in ["agentpool", "storageprofile", "storagetier", "accelerator"])`,
      'labels "agentpool", "storageprofile", "storagetier" and "accelerator" are set by AKS alone',
    ],
  ] as const
  return rules.map(([rule, message]) => ({ rule: each(rule), message: message }))
}

/** Requirement entries; a NodeClaim's may name its pool, a NodePool's may not. */
export function requirementList(options: { readonly nodePoolAllowed: boolean }) {
  const key = z.string().max(316).regex(qualifiedName).describe('The label key that the requirement applies to.')
  const entry = z.object({
    key: key.register(crdExtensions, { cel: keyRules('self', options, (rule) => rule) }),
    operator: z.enum(operators).describe("The relation of the node's label to the values."),
    // Values that are no label values are the runtime validation's, with a message of its own.
    values: z.array(z.string()).optional().register(crdExtensions, { listType: 'atomic' }),
    minValues: z
      .int()
      .min(1)
      .max(50)
      .optional()
      .describe('How many distinct values there must at least be among the instance types.'),
  })
  return z
    .array(entry)
    .max(100)
    .register(crdExtensions, {
      listType: 'atomic',
      cel: [
        {
          rule: "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)",
          message: "requirements with operator 'In' must have a value defined",
        },
        {
          rule: "self.all(x, (x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
          message: "requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value",
        },
        {
          rule: "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
          message: "requirements with 'minValues' must have at least that many values specified in the 'values' field",
        },
      ],
    })
}

/** Labels of a NodePool's template. */
export const templateLabels = z
  .record(z.string(), z.string().max(63).regex(labelValue))
  .meta({ maxProperties: 100 })
  .register(crdExtensions, { cel: keyRules('x', { nodePoolAllowed: false }, (rule) => `self.all(x, ${rule})`) })

export const nodeClassRef = z.object({
  group: z
    .string()
    .min(1)
    .regex(/^[^/]*$/)
    .describe('API group of the node class.'),
  kind: z.string().min(1).describe('Kind of the node class.'),
  name: z.string().min(1).describe('Name of the node class.'),
})
