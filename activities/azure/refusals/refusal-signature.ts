// What two refusals have in common when names of size, zone, VM and the like do not count (docs/adr/0037-refusals-of-a-class.md).
import type { FailureFacts } from '../arm/azure-failure-rules.ts'

/** Names that differ from launch to launch. */
export interface NamesOfLaunch {
  readonly instanceType: string
  readonly zone: string
  readonly image: string
  readonly nodeClaim?: string
}

const longestText = 2000
/** In this order: an id holds numbers, and a number may be a part of a name. */
const varying: readonly (readonly [RegExp, string])[] = [
  // Resource ids, and paths of images.
  [/\/[\w.~%-]+(?:\/[\w.~%()-]+)+/g, '#'],
  // Sizes of which none was asked for, such as examples.
  [/\b(?:standard|basic)_\w+/g, '#'],
  // Whatever holds a digit: ids of operations, times, zones, and names of VMs, NICs and disks.
  [/[\w.+:-]*\d[\w.+:-]*/g, '#'],
  [/\s+/g, ' '],
]

/**
 * Returns the refusal's code, target and message without all that differs from launch to launch. Two refusals of one cause are equal in it, whichever
 * size, zone and VM they name.
 */
export function refusalSignature(facts: FailureFacts, names: NamesOfLaunch): string {
  const said = [facts.target ?? '', facts.message ?? facts.text].map((part) => withoutNames(part, names))
  return [codeOf(facts), ...said].join(' | ')
}

function withoutNames(text: string, { instanceType, zone, image, nodeClaim = '' }: NamesOfLaunch): string {
  let rest = text.slice(0, longestText).toLowerCase()
  for (const name of [image, instanceType, zone.length > 1 ? zone : ''])
    if (name !== '') rest = rest.replaceAll(name.toLowerCase(), '#')
  // VM, NIC and disk are called after the NodeClaim.
  const called = `(?<![\\w.-])(?:[\\w-]*-)?${escaped(nodeClaim.toLowerCase())}(?:-[\\w.-]*)?(?![\\w-])`
  if (nodeClaim !== '') rest = rest.replaceAll(new RegExp(called, 'g'), '#')
  for (const [pattern, to] of varying) rest = rest.replaceAll(pattern, to)
  return rest.trim()
}

/** Azure's code, or the status where it has none. */
export const codeOf = ({ code, status }: FailureFacts) => (code === '' ? `HTTP ${status ?? 'none'}` : code)

/** Returns the cause of a mark in Azure's words. */
export function causeOf(facts: FailureFacts): string {
  const { target = '', text, message = text } = facts
  const named = target === '' ? '' : `, target ${target.slice(0, 200)}`
  return `${codeOf(facts)}${named}: ${message.split('\n')[0]?.slice(0, 300) ?? ''}`
}

const escaped = (text: string) => text.replaceAll(/[^\w]/g, (char) => `\\${char}`)
