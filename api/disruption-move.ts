import { z } from 'zod'
import { methodNames } from '../core/disruption/command.ts'
import type { Cause } from '../core/disruption/verdicts/cause.ts'
import {
  type LastPass,
  lastPassKey,
  type Move,
  moveOutcomes,
  type Verdict,
} from '../core/disruption/verdicts/verdict.ts'
import type { Hold } from '../core/node-claim/hold.ts'
import { type Pause, type PauseScope, pausableReasons } from '../core/pauses/pauses.ts'
import {
  amount,
  count,
  type Entries,
  epochMs,
  instant,
  type KeptFault,
  readEntries,
  readJson,
  words,
} from './kept/document.ts'

const text = words(10_000)
const texts = z.array(text).max(1000)
/** USD an hour, and what is computed from them. */
const number = amount(-1e15, 1e15)
const ms = epochMs.exactOptional()

const pods: z.ZodType<Extract<Cause, { readonly kind: 'pods-without-place' }>['pods']> = z.array(
  z.object({ name: text, constraint: text.exactOptional() }),
)

const hold: z.ZodType<Hold> = z.object({
  untilMs: ms,
  odd: text.exactOptional(),
  reason: text.exactOptional(),
  by: text.exactOptional(),
  expiry: z.boolean(),
})

const scope: z.ZodType<PauseScope> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('cluster') }),
  z.object({ kind: z.literal('nodePool'), name: text }),
  z.object({ kind: z.literal('node'), name: text }),
  z.object({ kind: z.literal('reason'), reason: z.enum(pausableReasons) }),
])

const pause: z.ZodType<Pause> = z.object({
  reason: text,
  sinceMs: epochMs,
  untilMs: ms,
  by: text.exactOptional(),
  scope: scope.exactOptional(),
})

const eviction = { pod: text, podDisruptionBudgets: texts }

/** The facts of each kind of cause. A kind or a field that is missing here does not compile. */
type Facts = {
  readonly [Kind in Cause['kind']]: {
    readonly [Field in Exclude<keyof Extract<Cause, { readonly kind: Kind }>, 'kind'>]: z.ZodType<
      Extract<Cause, { readonly kind: Kind }>[Field]
    >
  }
}

const facts: Facts = {
  'no-node': {},
  rebooting: {},
  leaving: {},
  'not-initialized': { isRegistered: z.boolean() },
  nominated: {},
  held: { hold },
  'do-not-disrupt': {},
  'repair-needs-node-pool': {},
  'condition-tolerated': { condition: text, until: text },
  'do-not-repair': {},
  'clock-wrong': {},
  'repair-unbounded': { pod: text },
  'too-many-unhealthy': { nodePool: text },
  healthy: {},
  'no-node-pool-label': {},
  'no-node-pool': { nodePool: text },
  paused: { pause },
  'pod-do-not-disrupt': { pod: text },
  pdb: eviction,
  'several-pdbs': eviction,
  'no-disruptions-allowed': { reason: z.enum(pausableReasons) },
  'unknown-instance-type': { instanceType: text },
  'no-label': { label: text },
  'consolidation-disabled': { nodePool: text },
  'only-when-empty': { nodePool: text },
  'not-consolidatable': { consolidateAfter: text },
  'not-drifted': {},
  'static-pool-not-consolidated': {},
  'static-pool-not-replaced': {},
  'no-static-pool': {},
  empty: {},
  'not-empty': {},
  'buffer-pods': { node: text, buffers: texts },
  'command-failed': {},
  'other-nodes-first': {},
  'other-drifted-first': {},
  'other-unhealthy-first': {},
  'other-static-first': {},
  'no-set-of-nodes': {},
  'pods-expected': {},
  'pods-without-place': { pods, count },
  'several-new-nodes': { count },
  'min-values': { labels: texts },
  'nothing-cheaper': {},
  'nothing-cheaper-than-one': {},
  'spot-to-spot-disabled': {},
  'few-spot-types': { needed: count, found: count },
  'no-ready-pool': {},
  'image-on-trial': { nodeClass: text },
  'static-pool-not-ready': { nodePool: text },
  'static-pool-at-limit': {},
  'static-pool-reservations-full': {},
  budget: { nodePool: text },
  'requested-budget': { nodes: count },
  'deletion-saves-too-little': {},
  'saves-too-little': { scores: z.array(z.object({ nodePool: text, savings: number, disruption: number })) },
  'chosen-empty': {},
  'chosen-drifted': {},
  'chosen-unhealthy': { condition: text, reason: text },
  'chosen-together': { nodes: count },
  'chosen-underutilized': {},
}

type Variant = z.ZodObject<{ readonly kind: z.ZodLiteral<Cause['kind']> }>

const variants = Object.entries(facts).map(([kind, own]) =>
  z.object({ kind: z.literal(kind as Cause['kind']), ...own }),
) as readonly Variant[] as readonly [Variant, ...Variant[]]

const cause = z.discriminatedUnion('kind', variants) as z.ZodType<Cause>

/** A move in verdicts and plans. */
export const moveSchema: z.ZodType<Move> = z.object({
  methods: z.array(z.enum(methodNames)),
  outcome: z.enum(moveOutcomes),
  cause,
  savingsForgone: number.exactOptional(),
})

const verdictSchema: z.ZodType<Omit<Verdict, 'nodeClaim'>> = z.object({
  node: text.exactOptional(),
  nodePool: text,
  since: text,
  price: number.exactOptional(),
  moves: z.array(moveSchema),
})

const lastPassSchema = z
  .object({ at: instant, commands: count })
  .transform(({ at, commands }): LastPass => ({ atMs: at, commands }))

/** What a ConfigMap of evaluations has. */
export interface StoredEvaluations {
  /** By NodeClaim. */
  readonly verdicts: ReadonlyMap<string, Verdict>
  readonly lastPass?: LastPass
  readonly faults: readonly KeptFault[]
}

/** Reads a ConfigMap of evaluations, or some of its entries. Entries that are not as this version writes them are left out, and named. */
export function parseEvaluations({ [lastPassKey]: passText, ...rest }: Entries): StoredEvaluations {
  const { documents, faults } = readEntries(rest, (_, text) => readJson(verdictSchema, text))
  const verdicts = new Map([...documents].map(([nodeClaim, one]) => [nodeClaim, { nodeClaim, ...one }]))
  if (passText === undefined) return { verdicts, faults }
  const lastPass = readJson(lastPassSchema, passText)
  if (lastPass.kind === 'damaged') return { verdicts, faults: [{ key: lastPassKey, why: lastPass.why }, ...faults] }
  return { verdicts, lastPass: lastPass.value, faults }
}
