import { z } from 'zod'
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
} from './kept/document.ts'

/** ConfigMap in Joiner's namespace with the machines that garbage collection keeps since pods run there. */
export const withheldMapName = 'joiner-withheld-machines'
export const withheldKey = 'Machines'

/** Machines that are named; a ConfigMap takes 1 MiB. */
const mostNamed = 1000

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
})

const document = z.object({
  at: instant,
  count,
  costPerDay: usd,
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
  readonly machines: readonly WithheldMachine[]
}

export function formatWithheld(atMs: number, machines: readonly WithheldMachine[]): string {
  const stored: z.input<typeof document> = {
    at: new Date(atMs).toISOString(),
    count: machines.length,
    costPerDay: machines.reduce((sum, { costPerDay = 0 }) => sum + costPerDay, 0),
    machines: machines.slice(0, mostNamed),
  }
  return JSON.stringify(stored)
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

/** Returns a machine in words, such as `VM aks-a: its Node aks-a is Ready and runs 3 pods; 2.30 USD a day`. */
export function withheldText({ kind, name, node, pods, costPerDay }: WithheldMachine): string {
  const of = kind === 'Node' ? 'it' : `its Node ${node}`
  const runs = pods === undefined ? 'its pods could not be counted' : `runs ${pods} ${pods === 1 ? 'pod' : 'pods'}`
  const cost = costPerDay === undefined ? 'its price is not known' : `${costPerDay.toFixed(2)} USD a day`
  return `${kind} ${name}: ${of} is Ready and ${runs}${kind === 'Node' ? '' : `; ${cost}`}`
}

/** What ends such a machine. */
export function withheldRemedy(node: string): string {
  return `kubectl drain ${node} --ignore-daemonsets --delete-emptydir-data`
}
