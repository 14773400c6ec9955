import { z } from 'zod'
import { methodNames } from '../core/disruption/command.ts'
import type { DisruptionPlan } from '../core/disruption/plan/plan.ts'
import { isPlanId } from '../core/disruption/plan/plan-requests.ts'
import { pausableReasons } from '../core/pauses/pauses.ts'
import { moveSchema } from './disruption-move.ts'
import { usd as amount, name as anyName, readJson } from './kept/document.ts'

const name = anyName.min(1)
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
  version: z.literal(1, { error: 'another version of Joiner has made it; make a new plan' }),
  id: z.string().refine(isPlanId, 'it is no id of a plan'),
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
  const read = readJson(schema, text)
  return read.kind === 'read'
    ? { kind: 'ok', plan: read.value as DisruptionPlan }
    : { kind: 'refused', message: read.why }
}
