// What a cluster does to pods of a release, and that Joiner makes nodes all the same.
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { taskQueue } from '../../core/task-queues.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import { megabytes } from '../../deploy/local/image/contents.ts'
import type { Operator } from '../../deploy/local/operator.ts'
import { addresses } from '../../deploy/local/real-nodes/addresses.ts'
import { inCgroups, moveToServers } from '../../deploy/local/real-nodes/cgroups.ts'
import type { Stage } from '../../deploy/local/real-nodes/stage.ts'
import { until } from '../../deploy/local/real-nodes/until.ts'
import { type Json, oldPool, pathOf } from '../api/converted.ts'
import { inflate, untilInflated } from './life.ts'
import { containerProcesses, podMemory } from './node-resources.ts'
import { namespace, type Pod, type Release } from './release.ts'

const run = promisify(execFile)

/** All faults, one after the other, each with one more pod that is pending meanwhile. Errors: what did not go on, and restarts that nobody has caused. */
export async function proveFaults(stage: Stage, release: Release, say: (line: string) => void): Promise<void> {
  await replaceTemporal(stage, 'drained', say)
  await inflate(stage.operator, 12)
  say('pods that were pending after that run too')
  await replaceTemporal(stage, 'killed', say)
  await inflate(stage.operator, 13)
  await requireRestarts(release, [])
  await killPods(stage, release, say)
  const pod = await outOfMemory(stage, release, say)
  await byEndpoints(stage, say)
  await requireRestarts(release, [`${pod}: 1`])
}

async function requireRestarts(release: Release, caused: readonly string[]): Promise<void> {
  const restarted = (await release.figures()).filter(({ restarts }) => restarts > 0)
  const seen = restarted.map(({ name, restarts }) => `${name}: ${restarts}`)
  if (seen.join() !== caused.join())
    throw new Error(
      `pods were restarted: ${seen.join(', ') || 'none'}, and what was done to them restarts ${caused.join(', ') || 'none'}`,
    )
}

/** How the pod of Temporal ends: it has half a minute to serve and to close its connections, or none. */
const ends = { drained: [], killed: ['--force', '--grace-period=0'] } as const

/**
 * Deletes the pod of Temporal where packets to an address that nobody has are dropped, as by most networks of pods: who still sends there hears nothing.
 * Errors: Joiner does not poll all of its task queues within 30 s of the return.
 */
async function replaceTemporal(
  { operator, node }: Stage,
  how: keyof typeof ends,
  say: (line: string) => void,
): Promise<void> {
  const pod = 'joiner-temporal-0'
  const read = () => operator.api<Pod>('GET', `/api/v1/namespaces/${namespace}/pods/${pod}`)
  const { metadata, status } = await read()
  // Behind the pod's own route, with which it comes into force.
  await node.bare.run('ip', ['route', 'add', 'blackhole', status.podIP ?? '', 'metric', '1000'])
  await operator.kubectl(['delete', 'pod', pod, '--namespace', namespace, ...ends[how]])
  await until('another pod of Temporal is ready', 60_000, async () => {
    const now = await read()
    return now.metadata.uid !== metadata.uid && now.status.containerStatuses?.every(({ ready }) => ready) === true
  })
  const returnedAtMs = Date.now()
  await until(`Joiner polls Temporal, whose pod was ${how}`, 30_000, () => isPolled(operator))
  const seconds = Math.round((Date.now() - returnedAtMs) / 1000)
  say(
    `Temporal's pod was ${how}, and its address is a black hole: Joiner polled ${seconds} s after the new one was ready`,
  )
}

/** Whether each task queue has somebody that polls it. The server knows of polls since its start alone. */
async function isPolled(operator: Operator): Promise<boolean> {
  const exec = ['exec', '--namespace', namespace, 'joiner-temporal-0', '--', '/temporal']
  for (const role of ['core', 'azure', 'plan', 'wait', 'maintenance'] as const) {
    const describe = ['task-queue', 'describe', '--output', 'json', '--task-queue', taskQueue(role, clusterName)]
    const text = await operator.kubectl([...exec, ...describe])
    if ((JSON.parse(text).pollers ?? []).length === 0) throw new Error(`nobody polls for ${role}`)
  }
  return true
}

/** Kills all pods of Joiner at once, without a word. */
async function killPods({ operator }: Stage, release: Release, say: (line: string) => void): Promise<void> {
  const names = (await release.pods()).map(({ metadata }) => metadata.name).filter((name) => !name.includes('temporal'))
  await operator.kubectl(['scale', 'deployment', 'inflate', '--replicas=14'])
  await operator.kubectl(['delete', 'pod', ...names, '--namespace', namespace, '--force', '--grace-period=0'])
  await untilInflated(operator, 14)
  await release.ready()
  say(`all pods of Joiner (${names.length}) were killed at once: a pod that was pending runs, and others are ready`)
}

/** Takes all memory of the limit away from Joiner's pod. Returns its name. Errors: it is not killed for that once, and then does its work. */
async function outOfMemory({ operator }: Stage, release: Release, say: (line: string) => void): Promise<string> {
  const find = async () =>
    (await release.pods()).find(({ metadata }) => metadata.labels['app.kubernetes.io/component'] === 'joiner')
  const { metadata, status } = (await find()) ?? {}
  const id = status?.containerStatuses?.[0]?.containerID?.split('//')[1]
  if (metadata === undefined || id === undefined) throw new Error('no pod has the component joiner')
  const { files, pids } = await containerProcesses(metadata.uid, id)
  await operator.kubectl(['scale', 'deployment', 'inflate', '--replicas=15'])
  // A process of this machine is less likely to be killed than one of a pod.
  const eat = 'const all = []; setInterval(() => all.push(Buffer.alloc(16 * 1024 * 1024, 1)), 20)'
  const { command, args } = inCgroups(files, [process.execPath, '-e', eat])
  const eater = spawn(command, args, { stdio: 'ignore' })
  const memory = await podMemory(metadata.uid)
  await until('the kernel kills Joiner', 60_000, async () => pids.every((pid) => !existsSync(`/proc/${pid}`))).finally(
    () => eater.kill('SIGKILL'),
  )
  const { peak } = await podMemory(metadata.uid).catch(() => memory)
  await until('Joiner runs again', 60_000, async () => {
    const container = (await find())?.status.containerStatuses?.[0]
    const reason = container?.lastState?.terminated?.reason
    if (container?.restartCount !== 1 || reason !== 'OOMKilled')
      throw new Error(`${metadata.name}: ${container?.restartCount} restarts, ${reason}`)
    return container.ready
  })
  await untilInflated(operator, 15)
  say(
    `${metadata.name} had ${megabytes(peak)} of ${megabytes(memory.limit)} by its cgroup and was killed by the kernel (OOMKilled): it was restarted once, and a pod that was pending runs`,
  )
  return metadata.name
}

/**
 * Old versions of a NodePool are converted too where the API server has no way to Services, and asks a pod behind the endpoints. It is restarted for that,
 * twice. Errors: they are not, or no node is made.
 */
async function byEndpoints({ cluster, operator }: Stage, say: (line: string) => void): Promise<void> {
  const { supervisor } = cluster
  const restart = async (change: (args: readonly string[]) => readonly string[]) => {
    const spec = await supervisor.stop('kube-apiserver')
    if (spec === undefined) throw new Error('kube-apiserver does not run')
    supervisor.start({ ...spec, args: change(spec.args) })
    await moveToServers(supervisor.pids['kube-apiserver'] ?? 0)
    await until('the API server answers', 60_000, () => operator.kubectl(['get', '--raw', '/readyz']).then(Boolean))
  }
  const routing = '--enable-aggregator-routing=true'
  const route = ['route', 'add', addresses.services, 'via', addresses.node]
  await run('ip', ['route', 'delete', addresses.services])
  await restart((args) => [...args, routing])
  await operator.kubectl(['scale', 'deployment', 'inflate', '--replicas=16'])
  await until('a NodePool of v1beta1 is written', 60_000, () =>
    operator.api('POST', pathOf('nodepools', 'v1beta1'), oldPool('Never')).then(Boolean),
  )
  for (const version of ['v1', 'v1beta1']) {
    const { apiVersion } = await operator.api<Json>('GET', pathOf('nodepools', version, 'old'))
    if (apiVersion !== `karpenter.sh/${version}`) throw new Error(`NodePool old is read as ${String(apiVersion)}`)
  }
  await operator.kubectl(['delete', 'nodepool', 'old'])
  await untilInflated(operator, 16)
  await run('ip', route)
  await restart((args) => args.filter((arg) => arg !== routing))
  say(
    'the API server has asked the webhook by its endpoints alone, and was restarted twice: a pod that was pending runs',
  )
}
