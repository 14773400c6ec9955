import { z } from 'zod'
import { qualifiedNameErrors } from '../../core/requirements/label-syntax.ts'
import type { DefaultSpreadConstraint } from '../../core/scheduling/topology/spread-defaults.ts'
import { readOneYaml } from '../yaml/read.ts'

/** Karpenter's feature gates with their defaults (reference/karpenter-core.md 7). */
const gateDefaults = {
  NodeRepair: false,
  ReservedCapacity: true,
  SpotToSpotConsolidation: false,
  NodeOverlay: false,
  StaticCapacity: false,
  CapacityBuffer: false,
  TerminateFirstDrift: false,
  TerminateFirstRepair: false,
}

/** All known gates, and unknown ones that somebody named. */
type FeatureGates = Readonly<Record<keyof typeof gateDefaults, boolean> & Record<string, boolean>>

/** `Key=true` or `Key=false`, separated by commas; other gates keep their defaults. */
export const featureGates = z
  .string()
  .transform((text, context): FeatureGates => {
    const gates: Record<keyof typeof gateDefaults, boolean> & Record<string, boolean> = { ...gateDefaults }
    for (const entry of text.split(',').map((part) => part.trim())) {
      if (entry === '') continue
      const [name = '', value = ''] = entry.split('=').map((part) => part.trim())
      if (name !== '' && /^(true|false)$/i.test(value)) gates[name] = value.toLowerCase() === 'true'
      else context.addIssue(`has "${entry}", which is no gate; write Name=true or Name=false, separated by commas`)
    }
    return gates
  })
  .default(gateDefaults)

/** Returns warnings for unknown gates. */
export function gateWarnings(gates: Readonly<Record<string, boolean>>): readonly string[] {
  const unknown = Object.keys(gates).filter((name) => !Object.hasOwn(gateDefaults, name))
  return unknown.map((name) => {
    const named = `environment variable FEATURE_GATES "${name}=${String(gates[name])}"`
    return `${named}: there is no such gate; use some of ${Object.keys(gateDefaults).join(', ')}`
  })
}

const policies = ['Honor', 'Ignore'] as const
const constraint = z.strictObject({
  maxSkew: z.int().min(1, 'must be 1 or more'),
  topologyKey: z.string().superRefine((key, context) => {
    for (const error of qualifiedNameErrors(key)) context.addIssue(`"${key}" is no label key: ${error}`)
  }),
  whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway'], { error: 'must be DoNotSchedule or ScheduleAnyway' }),
  minDomains: z.int().min(1, 'must be 1 or more').optional(),
  nodeAffinityPolicy: z.enum(policies, { error: 'must be Honor or Ignore' }).optional(),
  nodeTaintsPolicy: z.enum(policies, { error: 'must be Honor or Ignore' }).optional(),
})

const schedulerConfiguration = z.strictObject({
  podTopologySpread: z
    .strictObject({ defaultConstraints: z.array(constraint).superRefine(refuseDoubles).default([]) })
    .optional(),
})

function refuseDoubles(constraints: readonly z.infer<typeof constraint>[], context: z.RefinementCtx): void {
  const seen = new Set<string>()
  for (const [index, { topologyKey, whenUnsatisfiable }] of constraints.entries()) {
    const pair = `${topologyKey}, ${whenUnsatisfiable}`
    if (seen.has(pair))
      context.addIssue({ code: 'custom', path: [index], message: `repeats (${pair}); keep one of them` })
    seen.add(pair)
  }
}

/** The cluster's default spread constraints, as YAML of kube-scheduler's shape; the selectors are deduced, so none may be given. */
export const schedulerConfig = z
  .string()
  .transform((text, context): readonly DefaultSpreadConstraint[] => {
    const parsed = schedulerConfiguration.safeParse(readYaml(text, context) ?? {})
    if (parsed.success) return (parsed.data.podTopologySpread?.defaultConstraints ?? []).map(withoutUndefined)
    for (const { path, message } of parsed.error.issues) {
      const field = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')
      context.addIssue(`${field.slice(1)}${field === '' ? '' : ': '}${message}; correct it`)
    }
    return []
  })
  .default([])

function readYaml(text: string, context: z.RefinementCtx): unknown {
  const read = readOneYaml(text)
  if (read.kind === 'value') return read.value
  context.addIssue(`is not YAML: ${read.message}`)
  return {}
}

function withoutUndefined(one: z.infer<typeof constraint>): DefaultSpreadConstraint {
  return Object.fromEntries(
    Object.entries(one).filter(([, value]) => value !== undefined),
  ) as unknown as DefaultSpreadConstraint
}
