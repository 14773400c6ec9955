import type { PoolFunnel } from './funnel.ts'

/** Returns what was left of a NodePool's types after each question. */
export function funnelText({ types, requirements, resources, offerings, limits }: PoolFunnel['funnel']): string {
  return `${types} type${types === 1 ? '' : 's'}; left after requirements ${requirements}, resources ${resources}, offerings ${offerings}, limits ${limits}`
}

/** Returns the nearest miss without names that only planning has. */
export function missText({ nearestMiss }: Pick<PoolFunnel, 'nearestMiss'>): string {
  return nearestMiss.replaceAll('hostname-placeholder-0000', 'hostname-placeholder')
}
