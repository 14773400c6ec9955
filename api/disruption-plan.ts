import { z } from 'zod'
import { methodNames } from '../core/disruption/command.ts'
import type { DisruptionPlan } from '../core/disruption/plan/plan.ts'
import { isPlanId } from '../core/disruption/plan/plan-requests.ts'
import { pausableReasons } from '../core/pauses/pauses.ts'
import { isDeeper, mostLevels } from '../core/values/json.ts'
import { moveSchema } from './disruption-move.ts'

const amount = z.number().nonnegative()
const name = z.string().min(1)
const cost = z.object({ before: z.number(), after: z.number() })

const candidate = z.object({
  nodeClaim: name,
  uid: name,
  node: name,
  nodePool: name,
  instanceType: z.string(),
  capacityType: z.string(),
  zone: z.string(),
  price: amount,
  pods: z.array(z.object({ pod: name, uid: name, node: name.optional(), newNode: z.int().positive().optional() })),
})

const replacement = z.object({
  number: z.int().positive(),
  nodePool: name,
  instanceTypes: z.array(name),
  otherTypes: z.int().min(0),
  capacityTypes: z.array(name),
  zones: z.array(name),
  price: amount,
  pods: z.int().min(0),
})

const command = z.object({
  method: z.enum(methodNames),
  reason: z.enum(pausableReasons),
  decision: z.enum(['delete', 'replace', 'terminate-first', 'reboot']),
  candidates: z.array(candidate).min(1),
  replacements: z.array(replacement),
  savings: z.number(),
})

const schema = z.object({
  version: z.literal(1, { error: 'is not 1: another version of Joiner has made it; make a new plan' }),
  id: z.string().refine(isPlanId, 'is not the id of a plan'),
  cluster: name,
  createdAt: z.iso.datetime({ offset: true }),
  by: z.string().optional(),
  options: z.object({
    nodePools: z.array(name).optional(),
    nodes: z.array(name).optional(),
    reasons: z.array(z.enum(pausableReasons)).optional(),
    budget: z.int().positive().optional(),
    now: z.boolean().optional(),
  }),
  commands: z.array(command),
  nodePools: z.array(z.object({ name, uid: name, generation: z.int() })),
  cost: z.object({ nodes: cost, cluster: cost, unpriced: z.int().min(0) }),
  blockers: z.array(
    z.object({
      nodeClaim: name,
      node: name.optional(),
      nodePool: name,
      price: amount,
      moves: z.array(moveSchema),
      forgone: amount,
      waitsUntil: z.string().optional(),
    }),
  ),
  budgets: z.array(
    z.object({
      nodePool: name,
      reason: z.enum(pausableReasons),
      nodes: z.int().min(0),
      allowed: amount,
      disrupted: z.int().min(0),
    }),
  ),
  pauses: z.array(z.string()),
  warnings: z.array(z.string()),
  leftOut: z.object({ commands: z.int().min(0), blockers: z.int().min(0) }).optional(),
})

/** Reads a saved plan; refused: the error and its field. */
export function parseDisruptionPlan(
  text: string,
): { readonly kind: 'ok'; readonly plan: DisruptionPlan } | { readonly kind: 'refused'; readonly message: string } {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    return { kind: 'refused', message: `not JSON: ${error instanceof Error ? error.message : String(error)}` }
  }
  if (isDeeper(json, mostLevels)) return { kind: 'refused', message: `nested more than ${mostLevels} levels deep` }
  const read = schema.safeParse(json)
  if (read.success) return { kind: 'ok', plan: json as DisruptionPlan }
  const [issue] = read.error.issues
  const path = issue?.path.join('.') ?? ''
  return { kind: 'refused', message: `${path === '' ? 'the plan' : path}: ${issue?.message ?? 'cannot be read'}` }
}
