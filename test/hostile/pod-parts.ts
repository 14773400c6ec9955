import type { Json } from './hostile-object.ts'

/** The spec of a pod, after what is wrong with it. */
export type NamedSpec = readonly [what: string, spec: Json]

export function container(resources: Json = { requests: { cpu: '100m' } }) {
  return { name: 'main', image: 'pause', resources }
}

export function expression(key: string, operator: string, values: readonly string[]) {
  return { matchExpressions: [{ key, operator, ...(values.length === 0 ? {} : { values }) }] }
}

export function preferring(key: string, operator: string, values: readonly string[]): Json {
  const term = { weight: 100, preference: expression(key, operator, values) }
  return { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [term] } } }
}

export function requiring(nodeSelectorTerms: readonly unknown[]): Json {
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } }
}

const labelSelector = { matchLabels: { app: 'hostile' } }

export function spread(topologyKey: string, whenUnsatisfiable: string) {
  return { maxSkew: 1, topologyKey, whenUnsatisfiable, labelSelector }
}

export function antiAffinity(topologyKeys: readonly string[]): Json {
  const terms = topologyKeys.map((topologyKey) => ({ topologyKey, labelSelector }))
  return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } }
}
