// Words for the facts of a lifecycle: for tables, timelines and Temporal's UI.
import type { Birth, Death, VmSpan } from './life.ts'

const mostNamed = 3

/** `Standard_D4s_v5 spot westus2-2`; a VM outside of zones has the zone 0. */
export function offeringText({ instanceType, capacityType, zone }: Omit<VmSpan, 'fromMs'>): string {
  return [instanceType, capacityType, zone === '0' ? 'no zone' : zone].filter((part) => part !== '').join(' ')
}

/** `$0.05 an hour`; says what an estimate and a missing price are. */
export function priceText({ pricePerHour, isEstimate }: Pick<VmSpan, 'pricePerHour' | 'isEstimate'>): string {
  if (pricePerHour === undefined) return 'price unknown'
  return `$${amountText(pricePerHour)} an hour${isEstimate === true ? ' (estimate)' : ''}`
}

/** An amount of USD with two digits that count at least. */
export function amountText(usd: number): string {
  const digits = Math.abs(usd) >= 1 || usd === 0 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(Math.abs(usd))))
  return usd.toFixed(Math.max(2, digits)).replace(/(\.\d\d\d*?)0+$/, '$1')
}

export function podsText(pods: number): string {
  return pods === 1 ? '1 pod' : `${pods} pods`
}

/** `31 s`, or minutes from ten minutes on. */
export function secondsText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  return seconds < 600 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
}

/** `3 pods and CapacityBuffer shop/spare`. */
function plannedText({ pods, buffers = [] }: Extract<Birth, { readonly kind: 'pods' }>): string {
  if (buffers.length === 0) return podsText(pods)
  const room = `CapacityBuffer ${namesText(buffers)}`
  return pods === 0 ? room : `${podsText(pods)} and ${room}`
}

/** Why a NodeClaim was created. */
export function birthText(came: Birth): string {
  switch (came.kind) {
    case 'pods':
      return `for ${plannedText(came)}`
    case 'replacement':
      return `replaces ${namesText(came.replaces)} (command ${came.command})`
    case 'static':
      return `for spec.replicas ${came.replicas} of its static NodePool`
    case 'by-hand':
      return 'created by hand or by another controller'
  }
}

/** Why a NodeClaim went. */
export function deathText(went: Death): string {
  switch (went.kind) {
    case 'disruption':
      return `${went.reason} (command ${went.command})`
    case 'gave-up':
      return `gave up: ${went.reason}: ${went.message}`
    case 'deleted':
      return 'deleted by somebody'
    case 'vm-lost':
      return `VM lost: ${went.message}`
    case 'node-gone':
      return `Node gone: ${went.message}`
    case 'scaled-down':
      return `scaled down: ${went.message}`
    case 'forced':
      return `ended by force: ${went.message}`
    default:
      return went.message.startsWith(went.kind) ? went.message : `${went.kind}: ${went.message}`
  }
}

/** A word for a table that counts causes. */
export function deathWord(went: Death): string {
  return went.kind === 'disruption' ? went.reason : went.kind
}

/** The first few names. */
export function namesText(names: readonly string[]): string {
  if (names.length === 0) return 'other nodes'
  const more = names.length - mostNamed
  return `${names.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
