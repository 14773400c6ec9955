import type { Operator } from '../../deploy/local/operator.ts'

/** Asks for so many pods. Returns when the request was sent: the clock of every scale-up and scale-down starts there. */
export async function scale({ operator }: { readonly operator: Operator }, replicas: number): Promise<number> {
  const startMs = Date.now()
  const path = '/apis/apps/v1/namespaces/default/deployments/inflate/scale'
  await operator.api('PATCH', path, { spec: { replicas } })
  return startMs
}
