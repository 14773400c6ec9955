// Changes of the facts of a lifecycle as it proceeds. All of them are pure: workflow code replays them.
import { printable } from '../values/printable.ts'
import { shortened } from '../values/texts.ts'
import type { Death, LifeFacts, RefusedCapacity, VmSpan } from './life.ts'

export const longestMessage = 200
/** Most characters of the facts as JSON: payloads stay below 4 KiB, whatever names and labels are. */
const mostChars = 3000
const mostVms = 6
export const mostRefused = 5

/** What is known of a NodeClaim without its NodeClaim: its workflow was started by hand or by another version. */
export function unknownFacts(createdMs: number): LifeFacts {
  return { createdMs, vms: [], came: { kind: 'by-hand' }, refused: [], attempts: 0, labels: {} }
}

/** A VM that Azure accepted. Launching a VM that is open already changes nothing: the same VM was adopted again. */
export function launched(facts: LifeFacts, vm: VmSpan): LifeFacts {
  const isOpen = facts.vms.some(({ toMs, instanceType }) => toMs === undefined && instanceType === vm.instanceType)
  return isOpen ? facts : { ...facts, vms: [...closed(facts.vms, vm.fromMs), vm].slice(-mostVms) }
}

export function refused(facts: LifeFacts, { instanceType, zone, capacityType, reason }: RefusedCapacity): LifeFacts {
  const refusal = { instanceType, zone, capacityType, reason: oneLine(reason, 60) }
  return { ...facts, refused: [...facts.refused, refusal].slice(-mostRefused) }
}

/** The VM is gone, or failed and is being removed. */
export function vmEnded(facts: LifeFacts, atMs: number): LifeFacts {
  return { ...facts, vms: closed(facts.vms, atMs) }
}

function closed(vms: readonly VmSpan[], atMs: number): readonly VmSpan[] {
  return vms.map((vm) => (vm.toMs === undefined ? { ...vm, toMs: Math.max(vm.fromMs, atMs) } : vm))
}

/** The NodeClaim is being deleted. The first cause that is more than somebody's deletion stays. */
export function leaving(facts: LifeFacts, went: Death, atMs: number): LifeFacts {
  const isKnown = facts.went !== undefined && facts.went.kind !== 'deleted'
  return {
    ...facts,
    drainingMs: facts.drainingMs ?? atMs,
    went: isKnown && facts.went !== undefined ? facts.went : went,
  }
}

/** The NodeClaim is not being deleted after all. */
export function staying(facts: LifeFacts): LifeFacts {
  const { went: _, drainingMs: __, ...rest } = facts
  return rest
}

/** The lifecycle has ended. `goneMs`: when the VM was gone. */
export function ended(facts: LifeFacts, atMs: number, goneMs: number = atMs): LifeFacts {
  return { ...vmEnded(facts, goneMs), went: facts.went ?? { kind: 'deleted' }, endedMs: atMs }
}

/** Returns facts that fit into a memo: the oldest refusals, labels and VMs go first. */
export function bounded(facts: LifeFacts): LifeFacts {
  let kept = facts
  const isTooLong = () => JSON.stringify(kept).length > mostChars
  while (isTooLong() && kept.refused.length > 0) kept = { ...kept, refused: kept.refused.slice(1) }
  while (isTooLong() && Object.keys(kept.labels).length > 0)
    kept = { ...kept, labels: Object.fromEntries(Object.entries(kept.labels).slice(0, -1)) }
  while (isTooLong() && kept.vms.length > 1) kept = { ...kept, vms: kept.vms.slice(1) }
  return kept
}

/** Returns untrusted text on one line, shortened. */
export function oneLine(text: string, longest = longestMessage): string {
  return shortened(printable(text), longest)
}
