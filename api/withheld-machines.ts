import { z } from 'zod'

/** ConfigMap in Joiner's namespace with the machines that garbage collection keeps since pods run there. */
export const withheldMapName = 'joiner-withheld-machines'
export const withheldKey = 'Machines'

/** Machines that are named; a ConfigMap takes 1 MiB. */
const mostNamed = 1000

const machine = z.object({
  /** `VM`, `AKS machine`, or `Node` where Azure has no VM of the Node. */
  kind: z.enum(['VM', 'AKS machine', 'Node']),
  name: z.string(),
  /** The Node that keeps it. */
  node: z.string(),
  /** Pods there, except those of DaemonSets. Unset: not known. */
  pods: z.int().nonnegative().exactOptional(),
  instanceType: z.string().exactOptional(),
  /** USD. Unset: no price list names the size. */
  costPerDay: z.number().nonnegative().exactOptional(),
})

const document = z.object({
  at: z.iso.datetime(),
  count: z.int().nonnegative(),
  costPerDay: z.number().nonnegative(),
  machines: z.array(machine),
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
  const stored: z.infer<typeof document> = {
    at: new Date(atMs).toISOString(),
    count: machines.length,
    costPerDay: machines.reduce((sum, { costPerDay = 0 }) => sum + costPerDay, 0),
    machines: machines.slice(0, mostNamed),
  }
  return JSON.stringify(stored)
}

/** Reads the ConfigMap's data. What this version does not write counts as none. */
export function parseWithheld(data: Readonly<Record<string, string>>): WithheldMachines {
  const read = document.safeParse(json(data[withheldKey]))
  if (!read.success) return { count: 0, costPerDay: 0, machines: [] }
  const { at, ...rest } = read.data
  return { atMs: Date.parse(at), ...rest }
}

function json(stored: string | undefined): unknown {
  try {
    return JSON.parse(stored ?? '')
  } catch {
    return undefined
  }
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
