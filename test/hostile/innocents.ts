import { deployment } from '../applied-objects.ts'

type Spec = Readonly<Record<string, unknown>>

/** Deployments of ordinary workloads, together 50 pods, which need nodes of several sizes. */
const workloads: readonly {
  readonly name: string
  readonly replicas: number
  readonly cpu: string
  readonly spec?: Spec
}[] = [
  { name: 'innocent-web', replicas: 20, cpu: '500m' },
  { name: 'innocent-zonal', replicas: 12, cpu: '1', spec: spreadOver('topology.kubernetes.io/zone', 'innocent-zonal') },
  { name: 'innocent-batch', replicas: 8, cpu: '2' },
  { name: 'innocent-apart', replicas: 6, cpu: '200m', spec: apart('innocent-apart') },
  { name: 'innocent-large', replicas: 4, cpu: '7' },
]

export const innocentCount = workloads.reduce((sum, { replicas }) => sum + replicas, 0)

/** Whether a pod is of an innocent Deployment. */
export function isInnocent(app: string | undefined): boolean {
  return workloads.some(({ name }) => name === app)
}

export function innocents(): readonly unknown[] {
  return workloads.map(({ name, replicas, cpu, spec = {} }) => {
    const plain = deployment({ name, replicas, cpu })
    const { template } = plain.spec
    return { ...plain, spec: { ...plain.spec, template: { ...template, spec: { ...template.spec, ...spec } } } }
  })
}

function spreadOver(topologyKey: string, app: string): Spec {
  const labelSelector = { matchLabels: { app } }
  return { topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }] }
}

function apart(app: string): Spec {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } }
  return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } }
}
