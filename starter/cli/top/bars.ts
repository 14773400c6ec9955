import { percent } from '../../document/words.ts'
import type { Style } from './paint.ts'

/** Returns a bar with the share in percent behind it. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${percent(share).padStart(4)}`
}

/** Full nodes are what is paid for. */
export function shareStyle(share: number): Style {
  if (share > 1) return 'red'
  if (share >= 0.7) return 'green'
  return share >= 0.3 ? 'yellow' : 'red'
}

/** Undefined: there is nothing to have a share of. */
export function shareOf(requested: number, allocatable: number): number | undefined {
  return allocatable > 0 ? requested / allocatable : undefined
}

export function coresText(cores: number): string {
  return cores >= 100 ? cores.toFixed(0) : cores.toFixed(1)
}

const memoryUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(memoryUnits.length - 1, Math.floor(Math.log2(bytes) / 10))
  const amount = bytes / 2 ** (10 * power)
  return `${amount >= 100 ? amount.toFixed(0) : amount.toFixed(1)} ${memoryUnits[power]}`
}
