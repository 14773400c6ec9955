import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { freePorts } from '../../deploy/local/free-ports.ts'
import { requireGo } from '../../deploy/local/server-build/go.ts'
import type { World } from '../world.ts'
import type { Recorder } from './report.ts'

const example = (name: string) => fileURLToPath(new URL(`../../examples/keda/${name}`, import.meta.url))

/** Working hours that are now, and working hours that are not, in UTC. */
const always = { timezone: 'Etc/UTC', start: '0 0 * * *', end: '59 23 * * *' }
function elsewhen(): typeof always {
  const hour = (new Date().getUTCHours() + 6) % 24
  return { timezone: 'Etc/UTC', start: `0 ${hour} * * *`, end: `30 ${hour} * * *` }
}

/** The example's ScaledObject, with other working hours and less patience. */
async function scaledObject(hours: typeof always): Promise<object> {
  const object = parse(await readFile(example('scaledobject.yaml'), 'utf8')) as {
    spec: { triggers: { metadata: object }[] }
  }
  const [trigger] = object.spec.triggers
  const triggers = [{ ...trigger, metadata: { ...trigger?.metadata, ...hours } }]
  return { ...object, spec: { ...object.spec, pollingInterval: 2, cooldownPeriod: 2, triggers } }
}

/**
 * Has the real operator of KEDA scale the example's Deployment from nothing to its least number of replicas and back, while Joiner makes nodes for it
 * and removes them. What KEDA leaves to a HorizontalPodAutoscaler needs its metrics server, which is not run here.
 */
export async function scaleByKeda(world: World, binary: string, { say, record }: Recorder): Promise<void> {
  await startOperator(world, binary)
  await world.operator.kubectl(['delete', 'deployment', 'inflate', '--ignore-not-found'])
  await world.untilNothingLeft()
  await world.apply(parse(await readFile(example('inflate.yaml'), 'utf8')))
  say('KEDA: the working hours begin')
  await step('working hours begin', '2 pods run on nodes of Joiner', async () => {
    await world.apply(await scaledObject(always))
    await world.untilRunning(2)
    const hpas = await world.operator.kubectl(['get', 'horizontalpodautoscaler', '--output', 'name'])
    if (!hpas.includes('keda-hpa-inflate')) throw new Error(`no HorizontalPodAutoscaler of KEDA: ${hpas}`)
  })
  say('KEDA: the working hours end')
  await step('working hours end', 'no pod and no node is left', async () => {
    await world.apply(await scaledObject(elsewhen()))
    await world.untilRunning(0)
    await world.untilNothingLeft()
  })

  async function step(what: string, outcome: string, work: () => Promise<unknown>): Promise<void> {
    const failure = await work().then(
      () => undefined,
      (error: unknown) => String(error).slice(0, 500).replaceAll('\n', ' '),
    )
    record({ part: 'keda', what, outcome: failure ?? outcome, isOk: failure === undefined })
  }
}

/** Where Go keeps the files of the operator's module; it fetches them if it has lost them. */
async function moduleFiles(): Promise<string> {
  await requireGo()
  const cwd = fileURLToPath(new URL('../../deploy/local/servers/keda', import.meta.url))
  const download = ['mod', 'download', '-json', 'github.com/kedacore/keda/v2']
  const { stdout } = await promisify(execFile)('go', download, { cwd })
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir
}

async function startOperator({ cluster, operator }: World, binary: string): Promise<void> {
  const crds = join(await moduleFiles(), 'config', 'crd', 'bases')
  await operator.kubectl(['apply', '--server-side', '-f', crds])
  await operator.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
  await operator.kubectl(['create', 'namespace', 'keda'])
  const certs = join(cluster.stateDir, 'keda-certs')
  await mkdir(certs, { recursive: true })
  const { caFile, serverCertFile, serverKeyFile } = cluster.pki
  const files = [
    [caFile, 'ca.crt'],
    [serverCertFile, 'tls.crt'],
    [serverKeyFile, 'tls.key'],
  ] as const
  await Promise.all(files.map(([from, name]) => copyFile(from, join(certs, name))))
  const [health = 0, metricsService = 0] = await freePorts(2)
  cluster.supervisor.start({
    name: 'keda-operator',
    command: binary,
    args: [
      `--health-probe-bind-address=127.0.0.1:${health}`,
      `--metrics-service-bind-address=127.0.0.1:${metricsService}`,
      '--enable-prometheus-metrics=false',
      `--cert-dir=${certs}`,
    ],
    env: {
      KUBECONFIG: cluster.adminKubeconfig,
      WATCH_NAMESPACE: '',
      POD_NAMESPACE: 'keda',
      KEDA_CLUSTER_OBJECT_NAMESPACE: 'keda',
    },
  })
}
