import { z } from 'zod'
import { shortened } from '../core/values/texts.ts'
import { timeText } from '../core/values/time.ts'
import {
  count,
  damaged,
  type Entries,
  instant,
  type KeptFault,
  name,
  readEntries,
  readJson,
  usd,
  words,
} from './kept/document.ts'

/** ConfigMap in Joiner's namespace with the machines that garbage collection keeps since pods run there. */
export const withheldMapName = 'joiner-withheld-machines'
export const withheldKey = 'Machines'

/** Machines that are named, and most characters of them, which are ASCII; a ConfigMap takes 1 MiB. */
const mostNamed = 1000
const mostText = 900_000

const longestText = 1000

const machine = z.object({
  /** `VM`, `AKS machine`, or `Node` where Azure has no VM of the Node. */
  kind: z.enum(['VM', 'AKS machine', 'Node']),
  name,
  /** The Node that keeps it. */
  node: name,
  /** Pods there, except those of DaemonSets. Unset: not known. */
  pods: count.exactOptional(),
  instanceType: name.exactOptional(),
  /** USD. Unset: no price list names the size. */
  costPerDay: usd.exactOptional(),
  /** UID of its lost NodeClaim, and its NodePool, as its tags say. */
  uid: name.exactOptional(),
  nodePool: name.exactOptional(),
  /** Since when it is known to be kept, and when it is adopted by itself. Without the second it is not. */
  since: instant.exactOptional(),
  adoptedAt: instant.exactOptional(),
  /** What becomes of it: it gets a NodeClaim again; it gets one to be drained, since its Node is being deleted; or neither. Unset: it is none that gets one. */
  plan: z.enum(['adopt', 'drain', 'left']).exactOptional(),
  /** Why neither, and what to do. */
  why: words(longestText).exactOptional(),
  remedy: words(longestText).exactOptional(),
  /** Where Node or NodePool contradict its tags. */
  differs: words(longestText).exactOptional(),
})

const document = z.object({
  at: instant,
  count,
  costPerDay: usd,
  /** Why nothing is adopted by itself. */
  doubt: words(longestText).exactOptional(),
  machines: z.array(machine).max(mostNamed),
})

/** A VM, AKS machine or Node without a NodeClaim that is kept since pods run there, or may run there. */
export type WithheldMachine = z.infer<typeof machine>

export interface WithheldMachines {
  /** Epoch ms: when the last pass looked; unset when none has found any. */
  readonly atMs?: number
  readonly count: number
  /** USD, of those with a price. */
  readonly costPerDay: number
  readonly doubt?: string
  readonly machines: readonly WithheldMachine[]
}

/** `doubt`: why nothing is adopted by itself. */
export function formatWithheld(atMs: number, machines: readonly WithheldMachine[], doubt?: string): string {
  const texts = ['why', 'remedy', 'differs'] as const
  const short = (one: WithheldMachine): WithheldMachine => ({
    ...one,
    ...Object.fromEntries(
      texts.flatMap((key) => (one[key] === undefined ? [] : [[key, shortened(one[key], longestText)]])),
    ),
  })
  return JSON.stringify(
    z.encode(document, {
      at: atMs,
      count: machines.length,
      costPerDay: machines.reduce((sum, { costPerDay = 0 }) => sum + costPerDay, 0),
      ...(doubt === undefined ? {} : { doubt: shortened(doubt, longestText) }),
      machines: named(machines).map(short),
    }),
  )
}

/** Returns the machines that are named: those that can be adopted come first, since how long they have been kept follows from it. */
function named(machines: readonly WithheldMachine[]): readonly WithheldMachine[] {
  const isLeft = ({ plan }: WithheldMachine) => plan === undefined || plan === 'left'
  const ordered = machines.toSorted((a, b) => Number(isLeft(a)) - Number(isLeft(b)))
  let length = 0
  return ordered.slice(0, mostNamed).filter((one) => {
    length += JSON.stringify(one).length
    return length <= mostText
  })
}

/** Reads the ConfigMap's data. What this version does not write counts as none. */
export function parseWithheld(data: Entries): {
  readonly found: WithheldMachines
  readonly faults: readonly KeptFault[]
} {
  const { documents, faults } = readEntries(data, (key, text) =>
    key === withheldKey ? readJson(document, text) : damaged(`the only key is ${withheldKey}`),
  )
  const { at, ...found } = documents.get(withheldKey) ?? { count: 0, costPerDay: 0, machines: [] }
  return { found: { ...found, ...(at === undefined ? {} : { atMs: at }) }, faults }
}

/** Returns a machine in words, such as `VM aks-a: its Node aks-a is Ready and runs 3 pods; 2.30 USD a day; gets a NodeClaim again at ...`. */
export function withheldText(machine: WithheldMachine): string {
  const { kind, name, node, pods, costPerDay } = machine
  const of = kind === 'Node' ? 'it' : `its Node ${node}`
  const runs = pods === undefined ? 'its pods could not be counted' : `runs ${pods} ${pods === 1 ? 'pod' : 'pods'}`
  const cost = costPerDay === undefined ? 'its price is not known' : `${costPerDay.toFixed(2)} USD a day`
  return `${kind} ${name}: ${of} is Ready and ${runs}${kind === 'Node' ? '' : `; ${cost}`}${planText(machine)}`
}

/** Returns what becomes of a VM, or why nothing does and what to do. */
function planText({ plan, adoptedAt, why = '', remedy = '', differs }: WithheldMachine): string {
  if (plan === undefined) return ''
  if (plan === 'left') return `; gets no NodeClaim: ${why}; ${remedy}`
  const gets =
    plan === 'adopt'
      ? 'gets a NodeClaim again'
      : 'gets a NodeClaim again to be drained and to end, since its Node is being deleted,'
  const when =
    adoptedAt === undefined ? 'once joiner admin adopt is run' : `at ${timeText(adoptedAt)}, or by joiner admin adopt`
  return `; ${gets} ${when}${differs === undefined ? '' : `; ${differs}`}`
}

/** What ends a machine. */
export function withheldRemedy({
  node,
  kind = 'VM',
  plan,
}: Pick<WithheldMachine, 'node'> & Partial<WithheldMachine>): string {
  const drain = `kubectl drain ${node} --ignore-daemonsets --delete-emptydir-data`
  return kind === 'VM' || plan !== undefined ? `joiner admin adopt --delete ${node}, or ${drain}` : drain
}
